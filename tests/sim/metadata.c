/* SPDX-License-Identifier: Apache-2.0 */
#include "metadata.h"

#include <rdmad/error.h>
#include <rdmad/fetch.h>
#include <string.h>

#include "network.h"

#define MACS	   "/latest/meta-data/network/interfaces/macs/"
#define FIRST_HOST 10u /* the address of the first NIC */

typedef enum { FAIL_TIMEOUT, FAIL_REFUSED, FAIL_BUSY, FAIL_UNKNOWN, FAIL_NONSENSE, N_FAILS } Fail;

static struct {
	Decisions *decisions;
	gboolean fails;
} metadata;

void metadata_begin(Decisions *decisions)
{
	metadata.decisions = decisions;
	metadata.fails = FALSE;
}

void metadata_set_failing(gboolean fails)
{
	metadata.fails = fails;
}

/* ---- what it says ---- */

static guint network_of(guint nic)
{
	return nic ? NETWORK_PRIMARY : 0;
}

RdmadIp metadata_address(guint nic)
{
	g_autofree char *host = g_strdup_printf("%u/24", FIRST_HOST + nic);

	return network_ip(8, network_of(nic), host);
}

static char *nic_value(guint nic, const char *name)
{
	const RdmadIp address = metadata_address(nic);
	const RdmadIp gateway = network_ip(8, network_of(nic), "253");
	const RdmadIp in = rdmad_ip_network(&address);
	char text[RDMAD_IP_TEXT];

	if (g_str_equal(name, "vswitch-cidr-block"))
		return g_strdup(rdmad_ip_text(&in, TRUE, text));
	return g_strdup(
		rdmad_ip_text(g_str_equal(name, "gateway") ? &gateway : &address, FALSE, text));
}

/* Returns NULL for an unknown path. */
static char *value_of(const char *path)
{
	const char *mac = path + strlen(MACS);

	if (g_str_equal(path, "/latest/api/token"))
		return g_strdup("TOKEN");
	if (g_str_equal(path, "/latest/meta-data/mac"))
		return network_nic_mac(NETWORK_PRIMARY);
	for (guint nic = 0; nic < NETWORK_NICS && g_str_has_prefix(path, MACS); nic++) {
		g_autofree char *own = network_nic_mac(nic);

		if (g_str_has_prefix(mac, own))
			return nic_value(nic, mac + strlen(own) + 1);
	}
	return NULL;
}

/* ---- responses ---- */

static gboolean answer(RdmadFetchResponse *response, guint status, char *body)
{
	*response = (RdmadFetchResponse){ .status = status, .body = body, .size = strlen(body) };
	return TRUE;
}

static gboolean fail(RdmadFetchResponse *response, GError **error)
{
	const Fail how = (Fail)decide(metadata.decisions, DECIDE_CLOUD, N_FAILS);

	switch (how) {
	case FAIL_BUSY:
		return answer(response, 503, g_strdup(""));
	case FAIL_UNKNOWN:
		return answer(response, 404, g_strdup("not found"));
	case FAIL_NONSENSE:
		return answer(response, 200, g_strdup("<html>"));
	case FAIL_TIMEOUT:
	case FAIL_REFUSED:
	case N_FAILS:
		break;
	}
	g_set_error(error, RDMAD_ERROR,
		    how == FAIL_TIMEOUT ? RDMAD_ERROR_TIMEOUT : RDMAD_ERROR_UNAVAILABLE,
		    "the metadata service does not answer");
	return FALSE;
}

gboolean metadata_fetch(const RdmadFetchSpec *spec, const RdmadJob *job,
			RdmadFetchResponse *response, GError **error)
{
	char *value;

	if (metadata.fails)
		return fail(response, error);
	value = value_of(strchr(spec->url + strlen("http://"), '/'));
	return value ? answer(response, 200, value) : answer(response, 404, g_strdup(""));
}
