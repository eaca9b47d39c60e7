/* SPDX-License-Identifier: Apache-2.0 */
/* Modes shared and shared-multi: a macvlan or ipvlan on the NIC, made in the pod by one message.
 * The allocations limit how many share a NIC, so both modes are planned alike. */
#include "plan/planner.h"

static const char *kind_name(const Planner *planner)
{
	return planner->policy->link == CNI_LINK_MACVLAN ? "macvlan" : "ipvlan";
}

/* macvlan, ipvlan and bridges use the NIC's receive handler, which only one of them can have. */
static gboolean handler_check(const Planner *planner, GError **error)
{
	const gboolean alone = planner->policy->link == CNI_LINK_MACVLAN &&
			       g_str_equal(cni_policy_macvlan_mode(planner->policy), "passthru");
	const GArray *links = planner->input->host->links;

	for (guint i = 0; i < links->len; i++) {
		const CniViewLink *link = &g_array_index(links, CniViewLink, i);
		const gboolean other =
			link->parent == planner->nic->index && link->kind &&
			(g_str_equal(link->kind, "macvlan") || g_str_equal(link->kind, "macvtap") ||
			 g_str_equal(link->kind, "ipvlan"));

		if (other && (alone || g_str_equal(link->kind, "ipvlan") !=
					       (planner->policy->link == CNI_LINK_IPVLAN)))
			return cni_refuse(error, CNI_ERROR_HELD,
					  "%s of the host is %s on %s, and %s cannot be beside it",
					  link->name, link->kind, planner->nic->name,
					  alone ? "passthru" : kind_name(planner));
	}
	return TRUE;
}

static gboolean nic_check(const Planner *planner, GError **error)
{
	const CniViewLink *nic = planner->nic;

	if (nic->mac.length != 6)
		return cni_refuse(error, CNI_ERROR_DEVICE,
				  "%s is InfiniBand, on which no %s can be made; use mode ipoib",
				  nic->name, kind_name(planner));
	if (nic->master)
		return cni_refuse(error, CNI_ERROR_DEVICE,
				  "%s is in a bond or bridge of the host; take that one",
				  nic->name);
	if (!nic->up)
		return cni_refuse(error, CNI_ERROR_DEVICE, "%s is down in the host", nic->name);
	if (planner->mtu > nic->mtu)
		return cni_refuse(error, CNI_ERROR_CONFIG, "mtu: %u is above the %u of %s",
				  planner->mtu, nic->mtu, nic->name);
	if (planner->mac.length && planner->policy->link == CNI_LINK_IPVLAN)
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  "mac: an ipvlan has the address of its NIC");
	return handler_check(planner, error);
}

/* Derives a MAC address from the attachment, so that the result is known before the link is made,
 * and the link of a killed ADD can be recognized. */
static RdmadMac mac_make(const Planner *planner)
{
	g_autofree char *key = g_strjoin("\n", planner->input->request->container_id, planner->name,
					 planner->input->choice->device->id, NULL);
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	RdmadMac mac = { .length = 6 };
	guint8 digest[32];
	gsize size = sizeof(digest);

	g_checksum_update(sum, (const guchar *)key, -1);
	g_checksum_get_digest(sum, digest, &size);
	for (guint i = 0; i < mac.length; i++)
		mac.bytes[i] = digest[i];
	mac.bytes[0] = (guint8)((mac.bytes[0] & 0xfc) | 0x02);
	return mac;
}

gboolean plan_shared(Planner *planner, GError **error)
{
	const CniPolicy *policy = planner->policy;
	const gboolean macvlan = policy->link == CNI_LINK_MACVLAN;
	RdmadStep *step;

	if (!nic_check(planner, error))
		return FALSE;
	planner->result_mac = planner->mac.length ? planner->mac
			      : macvlan		  ? mac_make(planner)
						  : planner->nic->mac;
	planner->result_mtu = planner->mtu ? planner->mtu : planner->nic->mtu;
	step = planner_step(planner, RDMAD_STEP_LINK_CREATE, RDMAD_STEP_IN_POD);
	step->create.kind = g_strdup(kind_name(planner));
	step->create.parent_index = planner->nic->index;
	step->create.parent = g_strdup(planner->nic->name);
	step->create.name = g_strdup(planner->name);
	step->create.mode = g_strdup(macvlan ? cni_policy_macvlan_mode(policy)
					     : cni_policy_ipvlan_mode(policy));
	if (macvlan)
		step->create.mac = planner->result_mac;
	step->create.mtu = planner->result_mtu;
	return TRUE;
}
