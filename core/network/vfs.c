/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual functions in the netlink messages of their physical function */
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <rdmad/error.h>
#include <string.h>

#include "network/network-private.h"

#define VFS_MAX	  4096u
#define MAC_BYTES 6 /* of the 32 bytes in the message, which has no length */

/* ---- reading ---- */

/* Returns a structure of the kernel; NULL if it is absent or too short. */
#define VF_DATA(attrs, type, structure)                                                            \
	((const structure *)vf_data((attrs)[type], sizeof(structure)))

static const void *vf_data(const struct nlattr *attr, gsize size)
{
	return attr && (gsize)nla_len(attr) >= size ? nla_data(attr) : NULL;
}

static void parse_vlan(struct nlattr *const *attrs, RdmadVf *vf)
{
	const struct ifla_vf_vlan *vlan = VF_DATA(attrs, IFLA_VF_VLAN, struct ifla_vf_vlan);
	const struct ifla_vf_vlan_info *info = NULL;
	const struct nlattr *attr;
	int left;

	if (attrs[IFLA_VF_VLAN_LIST])
		nla_for_each_nested(attr, attrs[IFLA_VF_VLAN_LIST],
				    left) if (nla_type(attr) == IFLA_VF_VLAN_INFO && !info) info =
			vf_data(attr, sizeof(*info));
	if (info) {
		vf->vlan = info->vlan;
		vf->qos = info->qos;
		vf->is_8021ad = info->vlan_proto == g_htons(ETH_P_8021AD);
	} else if (vlan) {
		vf->vlan = vlan->vlan;
		vf->qos = vlan->qos;
	}
}

static int setting(guint32 value)
{
	return value <= G_MAXUINT8 ? (int)value : -1;
}

static void parse_settings(struct nlattr *const *attrs, RdmadVf *vf)
{
	const struct ifla_vf_rate *rate = VF_DATA(attrs, IFLA_VF_RATE, struct ifla_vf_rate);
	const struct ifla_vf_spoofchk *spoofchk =
		VF_DATA(attrs, IFLA_VF_SPOOFCHK, struct ifla_vf_spoofchk);
	const struct ifla_vf_trust *trust = VF_DATA(attrs, IFLA_VF_TRUST, struct ifla_vf_trust);
	const struct ifla_vf_link_state *state =
		VF_DATA(attrs, IFLA_VF_LINK_STATE, struct ifla_vf_link_state);
	const struct ifla_vf_guid *node = VF_DATA(attrs, IFLA_VF_IB_NODE_GUID, struct ifla_vf_guid);
	const struct ifla_vf_guid *port = VF_DATA(attrs, IFLA_VF_IB_PORT_GUID, struct ifla_vf_guid);

	vf->min_rate = rate ? rate->min_tx_rate : 0;
	vf->max_rate = rate ? rate->max_tx_rate : 0;
	vf->spoofchk = spoofchk ? setting(spoofchk->setting) : -1;
	vf->trust = trust ? setting(trust->setting) : -1;
	vf->link_state = state ? setting(state->link_state) : -1;
	/* Attributes are aligned to 4 bytes only. */
	if (node)
		memcpy(&vf->node_guid, &node->guid, sizeof(vf->node_guid));
	if (port)
		memcpy(&vf->port_guid, &port->guid, sizeof(vf->port_guid));
}

static gboolean parse_vf(struct nlattr *info, RdmadVf *vf)
{
	struct nlattr *attrs[IFLA_VF_MAX + 1];
	const struct ifla_vf_mac *mac;

	if (nla_type(info) != IFLA_VF_INFO || nla_parse_nested(attrs, IFLA_VF_MAX, info, NULL) < 0)
		return FALSE;
	mac = VF_DATA(attrs, IFLA_VF_MAC, struct ifla_vf_mac);
	if (!mac)
		return FALSE;
	*vf = (RdmadVf){ .number = mac->vf };
	vf->mac = g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", mac->mac[0], mac->mac[1],
				  mac->mac[2], mac->mac[3], mac->mac[4], mac->mac[5]);
	parse_vlan(attrs, vf);
	parse_settings(attrs, vf);
	return TRUE;
}

void network_parse_vfs(const struct nlattr *list, RdmadLink *link)
{
	GArray *vfs = g_array_new(FALSE, FALSE, sizeof(RdmadVf));
	struct nlattr *info;
	RdmadVf vf;
	int left;

	if (list)
		nla_for_each_nested(info, list, left) if (vfs->len < VFS_MAX && parse_vf(info, &vf))
			g_array_append_val(vfs, vf);
	link->n_vfs = vfs->len;
	link->vfs = (RdmadVf *)(void *)g_array_free(vfs, vfs->len == 0);
}

/* ---- writing ---- */

static gboolean put_vf_mac(struct nl_msg *msg, const RdmadVf *vf, GError **error)
{
	struct ifla_vf_mac mac = { .vf = vf->number };
	guint size;

	if (!vf->mac || !network_parse_mac(vf->mac, mac.mac, &size) || size != MAC_BYTES) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "invalid hardware address \"%s\"", vf->mac ?: "");
		return FALSE;
	}
	nla_put(msg, IFLA_VF_MAC, sizeof(mac), &mac);
	return TRUE;
}

static gboolean put_vf_vlan(struct nl_msg *msg, const RdmadVf *vf, GError **error)
{
	const struct ifla_vf_vlan_info info = {
		.vf = vf->number,
		.vlan = vf->vlan,
		.qos = vf->qos,
		.vlan_proto = g_htons(vf->is_8021ad ? ETH_P_8021AD : ETH_P_8021Q),
	};
	const struct ifla_vf_vlan plain = { vf->number, vf->vlan, vf->qos };
	struct nlattr *list;

	if (vf->vlan > 4094 || vf->qos > 7) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "invalid VLAN id %u or priority %u", vf->vlan, vf->qos);
		return FALSE;
	}
	/* Older kernels know only IFLA_VF_VLAN, which has no protocol. */
	if (!vf->is_8021ad) {
		nla_put(msg, IFLA_VF_VLAN, sizeof(plain), &plain);
		return TRUE;
	}
	list = nla_nest_start(msg, IFLA_VF_VLAN_LIST);
	nla_put(msg, IFLA_VF_VLAN_INFO, sizeof(info), &info);
	nla_nest_end(msg, list);
	return TRUE;
}

static void put_vf_settings(struct nl_msg *msg, const RdmadVf *vf, RdmadVfFields fields)
{
	const struct ifla_vf_rate rate = { vf->number, vf->min_rate, vf->max_rate };
	const struct ifla_vf_spoofchk spoofchk = { vf->number, (guint32)vf->spoofchk };
	const struct ifla_vf_trust trust = { vf->number, (guint32)vf->trust };
	const struct ifla_vf_link_state state = { vf->number, (guint32)vf->link_state };
	const struct ifla_vf_guid node = { .vf = vf->number, .guid = vf->node_guid };
	const struct ifla_vf_guid port = { .vf = vf->number, .guid = vf->port_guid };

	if (fields & RDMAD_VF_RATE)
		nla_put(msg, IFLA_VF_RATE, sizeof(rate), &rate);
	if (fields & RDMAD_VF_SPOOFCHK)
		nla_put(msg, IFLA_VF_SPOOFCHK, sizeof(spoofchk), &spoofchk);
	if (fields & RDMAD_VF_TRUST)
		nla_put(msg, IFLA_VF_TRUST, sizeof(trust), &trust);
	if (fields & RDMAD_VF_LINK_STATE)
		nla_put(msg, IFLA_VF_LINK_STATE, sizeof(state), &state);
	if (fields & RDMAD_VF_NODE_GUID)
		nla_put(msg, IFLA_VF_IB_NODE_GUID, sizeof(node), &node);
	if (fields & RDMAD_VF_PORT_GUID)
		nla_put(msg, IFLA_VF_IB_PORT_GUID, sizeof(port), &port);
}

gboolean rdmad_vf_set(RdmadNetwork *net, int ifindex, const RdmadVf *vf, RdmadVfFields fields,
		      GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };
	struct nl_msg *msg = NETWORK_REQUEST(RTM_SETLINK, 0, info);
	struct nlattr *list = nla_nest_start(msg, IFLA_VFINFO_LIST);
	struct nlattr *one = nla_nest_start(msg, IFLA_VF_INFO);

	if ((fields & RDMAD_VF_MAC && !put_vf_mac(msg, vf, error)) ||
	    (fields & RDMAD_VF_VLAN && !put_vf_vlan(msg, vf, error))) {
		nlmsg_free(msg);
		return FALSE;
	}
	put_vf_settings(msg, vf, fields);
	nla_nest_end(msg, one);
	nla_nest_end(msg, list);
	return network_change(net, msg, error, "set virtual function %u of link %d", vf->number,
			      ifindex);
}
