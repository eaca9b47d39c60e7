/* SPDX-License-Identifier: Apache-2.0 */
/* Any response of the container runtime is rejected, or yields a sandbox. */
#include <glib.h>
#include <stdint.h>

#include "prestart/cri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) sandbox_error = NULL;
	g_autoptr(GError) network_error = NULL;
	g_autofree char *id = NULL, *uid = NULL;
	CriSandbox sandbox = { 0 };

	if (cri_answer_sandbox(data, size, "ns", "p", &id, &uid, &sandbox_error))
		g_assert_true(id[0] && uid);
	else
		g_assert_true(sandbox_error && !id && !uid);
	if (!cri_answer_status(data, size, &sandbox, &network_error))
		g_assert_nonnull(network_error);
	cri_sandbox_clear(&sandbox);
	return 0;
}
