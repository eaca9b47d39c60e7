/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a device ID, or as a file of NVIDIA's driver, yields an accelerator or none. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "prestart/gpu-ids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GHashTable) names =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autofree char *address = gpu_ids_address(names, text);
	char *uuid = gpu_ids_uuid(text);

	if (address)
		g_assert_cmpuint(strlen(address), <=, strlen("ffffffff:ff:ff.f"));
	if (uuid) {
		g_assert_true(g_str_has_prefix(uuid, "GPU-"));
		g_hash_table_insert(names, uuid, g_strdup("0000:1b:00.0"));
	}
	return 0;
}
