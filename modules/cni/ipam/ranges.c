/* SPDX-License-Identifier: Apache-2.0 */
#include "ipam/ranges.h"

#include <jansson.h>
#include <rdmad/json.h>
#include <sys/socket.h>

#include "error.h"

/* Returns the address behind `ip`, which is unset behind the last one. */
static RdmadIp next_of(const RdmadIp *ip)
{
	RdmadIp next = *ip;

	for (guint i = rdmad_ip_bits(ip) / 8u; i-- > 0;)
		if (++next.bytes[i])
			return next;
	return (RdmadIp){ 0 };
}

/* The last address of a network of IPv4 is its broadcast address. */
static gboolean is_behind(const RdmadIp *next, const RdmadIp *network)
{
	const RdmadIp last = next_of(next);

	return rdmad_ip_in(next, network) &&
	       (next->family == AF_INET6 || rdmad_ip_in(&last, network));
}

static json_t *text_json(const RdmadIp *ip, gboolean with_prefix)
{
	char text[RDMAD_IP_TEXT];

	return json_string(rdmad_ip_text(ip, with_prefix, text));
}

static gboolean range_add(json_t *ranges, const CniView *host, const char *netdev,
			  const RdmadIp *own, GError **error)
{
	const RdmadIp network = rdmad_ip_network(own),
		      gateway = cni_view_gateway(host, netdev, own);
	RdmadIp start = next_of(own);
	char text[RDMAD_IP_TEXT];
	json_t *range;

	if (!is_behind(&start, &network))
		return cni_refuse(error, CNI_ERROR_ADDRESS,
				  "ipRangesSource: the subnet of %s, %s, has no address behind it",
				  netdev, rdmad_ip_text(own, TRUE, text));
	start = rdmad_ip_host(&start);
	range = json_pack("{s:o, s:o}", "subnet", text_json(&network, TRUE), "rangeStart",
			  text_json(&start, FALSE));
	if (rdmad_ip_is_set(&gateway) && rdmad_ip_in(&gateway, &network))
		json_object_set_new(range, "gateway", text_json(&gateway, FALSE));
	json_array_append_new(ranges, json_pack("[o]", range));
	return TRUE;
}

static const RdmadIp *own_address(const CniView *host, const char *netdev, int family)
{
	for (guint i = 0; i < host->addresses->len; i++) {
		const RdmadStepAddress *address =
			&g_array_index(host->addresses, RdmadStepAddress, i);

		if (address->ip.family == family && cni_view_address_is_kept(address, netdev))
			return &address->ip;
	}
	return NULL;
}

static gboolean ranges_add(json_t *ranges, const CniView *host, const char *netdev, GError **error)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (guint i = 0; i < G_N_ELEMENTS(families); i++) {
		const RdmadIp *own = own_address(host, netdev, families[i]);

		if (own && !range_add(ranges, host, netdev, own, error))
			return FALSE;
	}
	return json_array_size(ranges) ||
	       cni_refuse(error, CNI_ERROR_ADDRESS,
			  "ipRangesSource: %s has no address, and so no subnet, in the host",
			  netdev);
}

char *cni_ipam_ranges(const CniView *host, const char *netdev, GError **error)
{
	json_t *ranges = json_array();

	if (ranges_add(ranges, host, netdev, error))
		return rdmad_json_dump(ranges, JSON_COMPACT);
	json_decref(ranges);
	return NULL;
}
