/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the NICs, and the values of the metadata service. */
#include <rdmad/error.h>
#include <string.h>
#include <sys/socket.h>

#include "config/config-private.h"
#include "nic/metadata.h"
#include "settings.h"
#include "support/unit.h"

static ErdmaSettings *parse(const char *text, GError **error)
{
	g_autofree char *whole = g_strdup_printf("erdma = { nics = { %s }; };", text);
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), error);

	return config ? erdma_settings_parse(rdmad_config_child(rdmad_config_root(config), "erdma"),
					     error)
		      : NULL;
}

typedef struct {
	const char *name, *text, *message;
} Bad;

static const Bad bads[] = {
	{ "source", "address_from = \"dhcp\";", "address_from" },
	{ "jumbo", "jumbo_frames = true;", "jumbo_frames" },
	{ "metric", "metric = 0;", "metric" },
	{ "main table", "table_base = 254;", "table_base" },
	{ "priority", "rule_priority = 32766;", "rule_priority" },
	{ "no prefix", "addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.5\"; } );",
	  "must be an address with its prefix" },
	{ "link-local", "addresses = ( { nic = \"eth1\"; addresses = \"fe80::1/64\"; } );",
	  "not of the link alone" },
	{ "no address", "addresses = ( { nic = \"eth1\"; addresses = \"eth1/24\"; } );",
	  "eth1/24" },
	{ "no nic", "addresses = ( { addresses = \"10.0.1.5/24\"; } );", "nic" },
	{ "foreign gateway",
	  "addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.5/24\"; gateways = \"10.0.2.1\"; } "
	  ");",
	  "is in none of the NIC's networks" },
	{ "gateway with prefix",
	  "addresses = ( { nic = \"eth1\"; addresses = \"10.0.1.5/24\"; gateways = "
	  "\"10.0.1.1/24\"; } "
	  ");",
	  "without a prefix" },
	{ "mtu", "addresses = ( { nic = \"eth1\"; mtu = 10000; } );", "mtu" },
	{ "scheme", "metadata = { url = \"ftp://h\"; };", "must be http" },
	{ "path", "metadata = { url = \"http://h/\"; };", "must be http" },
	{ "query", "metadata = { url = \"http://h?x\"; };", "must be http" },
	{ "no time", "metadata = { timeout = 0; };", "timeout" },
	{ "tries", "metadata = { tries = 0; };", "tries" },
	{ "unknown", "metadata = { tokens = \"auto\"; };", "token" },
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

/* ---- the metadata service ---- */

typedef struct {
	const char *name, *address, *network, *gateway;
	const char *expected; /* of the address; NULL: it is refused */
} Values;

static const Values values[] = {
	{ "as documented", "10.0.1.5", "10.0.1.0/24", "10.0.1.253", "10.0.1.5/24" },
	{ "with line ends", "10.0.1.5\n", "10.0.1.0/24\n", " 10.0.1.253 ", "10.0.1.5/24" },
	{ "an address of another network", "10.0.2.5", "10.0.1.0/24", "10.0.1.253", NULL },
	{ "a gateway of another network", "10.0.1.5", "10.0.1.0/24", "10.0.2.253", NULL },
	{ "the gateway's own address", "10.0.1.253", "10.0.1.0/24", "10.0.1.253", NULL },
	{ "a network without prefix", "10.0.1.5", "10.0.1.5", "10.0.1.253", NULL },
	{ "a network of one host", "10.0.1.5", "10.0.1.5/32", "10.0.1.5", NULL },
	{ "every network", "10.0.1.5", "0.0.0.0/0", "10.0.1.253", NULL },
	{ "two families", "10.0.1.5", "2001:db8::/64", "10.0.1.253", NULL },
	{ "a page", "<html>", "10.0.1.0/24", "10.0.1.253", NULL },
	{ "nothing", "", "", "", NULL },
	{ "too much",
	  "10.0.1.5 10.0.1.5 10.0.1.5 10.0.1.5 10.0.1.5 10.0.1.5 10.0.1.5 10.0.1.5 10.0.1.5 ",
	  "10.0.1.0/24", "10.0.1.253", NULL },
	{ "prefix out of bounds", "10.0.1.5", "10.0.1.0/33", "10.0.1.253", NULL },
};

static void test_values(gconstpointer data)
{
	const Values *row = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(ErdmaNicNetwork) network =
		erdma_metadata_parse(row->address, row->network, row->gateway, &error);
	char text[RDMAD_IP_TEXT];

	if (!row->expected) {
		g_assert_null(network);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		return;
	}
	g_assert_no_error(error);
	g_assert_cmpstr(rdmad_ip_text(&g_array_index(network->addresses, RdmadIp, 0), TRUE, text),
			==, row->expected);
	g_assert_cmpint(network->gateway[0].family, ==, AF_INET);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/erdma-nic-settings/bad", bads, test_bad),
	UNIT_CASES("/erdma-metadata/values", values, test_values),
	{ 0 },
};
