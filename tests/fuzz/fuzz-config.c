/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is rejected, or is a configuration whose printed form is equal to it. */
#include <stdint.h>
#include <string.h>

#include "config/config-private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 leaks a string before a syntax error. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

static void reload(const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) config = NULL;
	g_autofree char *again = NULL;

	config = rdmad_config_load_text("printed.conf", text, strlen(text), &error);
	if (!config)
		g_error("%s\n%s", error->message, text);
	again = rdmad_config_print(config);
	if (!g_str_equal(again, text))
		g_error("printed as\n%s\nthen as\n%s", text, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) config = NULL;
	g_autofree char *text = NULL;

	config = rdmad_config_load_text("fuzz.conf", (const char *)data, size, &error);
	if (!config) {
		g_assert_nonnull(error);
		return 0;
	}
	text = rdmad_config_print(config);
	/* The printed form of a text just below the limit may exceed it. */
	if (strlen(text) < 512 * 1024)
		reload(text);
	return 0;
}
