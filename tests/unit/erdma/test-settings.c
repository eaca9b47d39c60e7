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

#define DRIVER(text) "driver = { " text " };"
#define NICS(text)   "nics = { " text " };"

static const Bad bads[] = {
	{ "driver: mode", DRIVER("prefer_driver = \"roce\";"), "prefer_driver" },
	{ "driver: loader", DRIVER("load_with = \"insmod\";"), "load_with" },
	{ "driver: module", DRIVER("module = \"../erdma\";"), "\"../erdma\" is not the name" },
	{ "driver: option", DRIVER("module = \"-r\";"), "\"-r\" is not the name" },
	{ "driver: no module", DRIVER("module = \"\";"), "module" },
	{ "driver: pci", DRIVER("pci_device = \"1ded\";"), "must be a PCI vendor and device" },
	{ "driver: pci tail", DRIVER("pci_device = \"1ded:107fx\";"), "pci_device" },
	{ "driver: modprobe", DRIVER("modprobe = \"modprobe\";"), "must be an absolute path" },
	{ "driver: load time", DRIVER("load_timeout = 0;"), "load_timeout" },
	{ "driver: command", DRIVER("install = { command = \"install.sh\"; };"),
	  "must be the absolute path" },
	{ "driver: environment", DRIVER("install = { environment = \"=1\"; };"),
	  "must be \"NAME=value\"" },
	{ "driver: checksum", DRIVER("install = { sha256 = \"00\"; };"),
	  "must be 64 hexadecimal digits" },
	{ "driver: no checksum", DRIVER("install = { command = \"/i\"; package = \"/p\"; };"),
	  "needs its sha256" },
	{ "driver: no command", DRIVER("install = { package = \"/p\"; sha256 = \"" SHA "\"; };"),
	  "needs a command" },
	{ "driver: no package", DRIVER("install = { command = \"/i\"; sha256 = \"" SHA "\"; };"),
	  "needs the package" },
	{ "driver: install time", DRIVER("install = { timeout = \"25h\"; };"), "timeout" },
	{ "driver: unknown", DRIVER("install = { url = \"http://x\"; };"), "url" },
	{ "nics: source", NICS("address_from = \"dhcp\";"), "address_from" },
	{ "nics: jumbo", NICS("jumbo_frames = true;"), "jumbo_frames" },
	{ "nics: metric", NICS("metric = 0;"), "metric" },
	{ "nics: main table", NICS("table_base = 254;"), "table_base" },
	{ "nics: priority", NICS("rule_priority = 32766;"), "rule_priority" },
	{ "nics: no prefix", NICS("addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.5\"; } );"),
	  "must be an address with its prefix" },
	{ "nics: link-local",
	  NICS("addresses = ( { nic = \"eth1\"; addresses = \"fe80::1/64\"; } );"),
	  "not of the link alone" },
	{ "nics: no address", NICS("addresses = ( { nic = \"eth1\"; addresses = \"eth1/24\"; } );"),
	  "eth1/24" },
	{ "nics: no nic", NICS("addresses = ( { addresses = \"10.0.1.5/24\"; } );"), "nic" },
	{ "nics: foreign gateway",
	  NICS("addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.5/24\"; gateways = "
	       "\"10.0.2.1\"; } );"),
	  "is in none of the NIC's networks" },
	{ "nics: gateway with prefix",
	  NICS("addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.5/24\"; gateways = "
	       "\"10.0.1.1/24\"; } );"),
	  "without a prefix" },
	{ "nics: mtu", NICS("addresses = ( { nic = \"eth1\"; mtu = 10000; } );"), "mtu" },
	{ "nics: scheme", NICS("metadata = { url = \"ftp://h\"; };"), "must be http" },
	{ "nics: path", NICS("metadata = { url = \"http://h/\"; };"), "must be http" },
	{ "nics: query", NICS("metadata = { url = \"http://h?x\"; };"), "must be http" },
	{ "nics: no time", NICS("metadata = { timeout = 0; };"), "timeout" },
	{ "nics: tries", NICS("metadata = { tries = 0; };"), "tries" },
	{ "nics: unknown", NICS("metadata = { tokens = \"auto\"; };"), "token" },
};

static void test_bad(gconstpointer data)
{
	const Bad *bad = data;
	g_autoptr(GError) error = NULL;

	g_assert_null(parse(bad->text, &error));
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
	UNIT_CASES("/erdma/settings/refuses/", bads, test_bad),
	UNIT_TEST("/erdma/settings/defaults are those of the manual", test_defaults),
	UNIT_TEST("/erdma/settings/an installer has its checksum", test_install),
	{ 0 },
};
