/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>

#include "config/config-private.h"
#include "settings.h"
#include "support/unit.h"

static ErdmaSettings *parse(const char *text, GError **error)
{
	g_autofree char *whole = g_strdup_printf("erdma = { %s };", text);
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), error);

	return config ? erdma_settings_parse(rdmad_config_child(rdmad_config_root(config), "erdma"),
					     error)
		      : NULL;
}

typedef struct {
	const char *name, *text, *message;
} Bad;

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const Bad bads[] = {
	{ "mode", "prefer_driver = \"roce\";", "prefer_driver" },
	{ "loader", "load_with = \"insmod\";", "load_with" },
	{ "module", "module = \"../erdma\";", "\"../erdma\" is no name" },
	{ "option", "module = \"-r\";", "\"-r\" is no name" },
	{ "no module", "module = \"\";", "module" },
	{ "pci", "pci_device = \"1ded\";", "must be a PCI vendor and device" },
	{ "pci tail", "pci_device = \"1ded:107fx\";", "pci_device" },
	{ "modprobe", "modprobe = \"modprobe\";", "must be an absolute path" },
	{ "load time", "load_timeout = 0;", "load_timeout" },
	{ "command", "install = { command = \"install.sh\"; };", "must be the absolute path" },
	{ "environment", "install = { environment = \"=1\"; };", "must be \"NAME=value\"" },
	{ "checksum", "install = { sha256 = \"00\"; };", "must be 64 hexadecimal digits" },
	{ "no checksum", "install = { command = \"/i\"; package = \"/p\"; };", "needs its sha256" },
	{ "no command", "install = { package = \"/p\"; sha256 = \"" SHA "\"; };",
	  "needs a command" },
	{ "no package", "install = { command = \"/i\"; sha256 = \"" SHA "\"; };",
	  "needs the package" },
	{ "install time", "install = { timeout = \"25h\"; };", "timeout" },
	{ "unknown", "install = { url = \"http://x\"; };", "url" },
};

static void test_bad(gconstpointer data)
{
	const Bad *bad = data;
	g_autofree char *text = g_strdup_printf("driver = { %s };", bad->text);
	g_autoptr(GError) error = NULL;

	g_assert_null(parse(text, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, bad->message));
	g_assert_nonnull(strstr(error->message, "test.conf:1"));
}

static void test_defaults(void)
{
	g_autoptr(ErdmaSettings) settings = parse("", NULL);

	g_assert_nonnull(settings);
	g_assert_cmpint(settings->driver->prefer, ==, ERDMA_PREFER_AUTO);
	g_assert_cmpint(settings->driver->load_with, ==, ERDMA_LOAD_AUTO);
	g_assert_cmpstr(settings->driver->module, ==, "erdma");
	g_assert_cmpstr(settings->driver->pci_device, ==, "1ded:107f");
	g_assert_null(settings->driver->install_command);
}

static void test_install(void)
{
	g_autoptr(ErdmaSettings) settings =
		parse("driver = { prefer_driver = \"compat\"; install = { command = ( \"/bin/sh\", "
		      "\"-s\" );"
		      " package = \"/p\"; sha256 = \"" SHA "\"; timeout = \"20m\"; }; };",
		      NULL);

	g_assert_nonnull(settings);
	g_assert_cmpint(settings->driver->prefer, ==, ERDMA_PREFER_COMPAT);
	g_assert_cmpstr(settings->driver->install_command[1], ==, "-s");
	g_assert_cmpuint(settings->driver->install_timeout_ms, ==, 20 * 60 * 1000);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/erdma/driver-settings/refuses", bads, test_bad),
	UNIT_TEST("/erdma/driver-settings/defaults are those of the manual", test_defaults),
	UNIT_TEST("/erdma/driver-settings/an installer has its checksum", test_install),
	{ 0 },
};
