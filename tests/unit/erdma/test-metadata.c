/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the metadata service. */
#include <rdmad/error.h>
#include <sys/socket.h>

#include "nic/metadata.h"
#include "support/unit.h"

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
	UNIT_CASES("/erdma/metadata/values/", values, test_values),
	{ 0 },
};
