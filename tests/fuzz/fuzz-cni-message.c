/* SPDX-License-Identifier: Apache-2.0 */
/* Any message on the socket, and any file in the spool, is rejected, or has environment and input
 * within their limits. */
#include <rdmad/error.h>
#include <stdint.h>

#include "message.h"
#include "shim/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL, damage = NULL;
	g_auto(CniMessage) message = { 0 }, spooled = { 0 };

	if (cni_message_read(data, size, NULL, 0, &message, &error)) {
		g_assert_cmpuint(message.environment_length, <=, CNI_SHIM_ENVIRONMENT_MAX);
		g_assert_cmpuint(message.input_length, <=, CNI_SHIM_INPUT_MAX);
	} else {
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	}
	if (!cni_spooled_read(data, size, &spooled, &damage))
		g_assert_error(damage, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	return 0;
}
