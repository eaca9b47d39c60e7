/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is rejected with a reason, or is an address with a port. */
#include <stdint.h>

#include "http/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autoptr(GError) error = NULL;
	RdmadHttpAddress address;

	if (!rdmad_http_address_parse(text, &address, &error)) {
		g_assert_nonnull(error);
		return 0;
	}
	g_assert_cmpuint(address.port, !=, 0);
	g_assert_true(address.size > 0);
	return 0;
}
