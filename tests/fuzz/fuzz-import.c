/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is rejected with a reason, or becomes a valid configuration. */
#include <stdint.h>
#include <string.h>

#include "cli/import/import.h"
#include "config/config-private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const RdmadImportOptions options = { .file = "fuzz.json" };
	g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) config = NULL;
	g_autofree char *text = NULL;

	text = rdmad_import_convert(size ? (const char *)data : "", size, &options, notes, &error);
	if (!text) {
		g_assert_nonnull(error);
		return 0;
	}
	config = rdmad_config_load_text("imported.conf", text, strlen(text), &error);
	if (!config)
		g_error("%s\n%s", error->message, text);
	return 0;
}
