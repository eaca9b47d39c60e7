/* SPDX-License-Identifier: Apache-2.0 */
/* Mode sriov: a virtual function, configured through its PF, then moved like any NIC.  The undo
 * restores its configuration. */
#include "plan/planner.h"

#include <linux/if_ether.h>

static void mac_set(const Planner *planner, RdmadVfState *wanted)
{
	if (!planner->mac.length)
		return;
	wanted->set |= RDMAD_STEP_VF_MAC;
	wanted->mac = planner->mac;
}

static void vlan_set(const Planner *planner, RdmadVfState *wanted)
{
	const CniNetworkKeys *keys = &planner->input->request->keys;
	const CniAnnotationEntry *entry = planner->input->choice->entry;
	const gint64 vlan = entry && entry->vlan >= 0 ? entry->vlan : keys->vlan;

	if (vlan < 0)
		return;
	wanted->set |= RDMAD_STEP_VF_VLAN;
	wanted->vlan = (guint32)vlan;
	wanted->qos = keys->vlan_qos > 0 ? (guint32)keys->vlan_qos : 0;
	wanted->vlan_protocol = keys->vlan_protocol ? keys->vlan_protocol : ETH_P_8021Q;
}

static void keys_set(const Planner *planner, RdmadVfState *wanted)
{
	const CniNetworkKeys *keys = &planner->input->request->keys;

	if (keys->spoof_check >= 0) {
		wanted->set |= RDMAD_STEP_VF_SPOOF_CHECK;
		wanted->spoof_check = keys->spoof_check;
	}
	if (keys->trust >= 0) {
		wanted->set |= RDMAD_STEP_VF_TRUST;
		wanted->trust = keys->trust;
	}
	if (keys->min_rate >= 0 || keys->max_rate >= 0) {
		wanted->set |= RDMAD_STEP_VF_RATE;
		wanted->min_rate = keys->min_rate > 0 ? (guint32)keys->min_rate : 0;
		wanted->max_rate = keys->max_rate > 0 ? (guint32)keys->max_rate : 0;
	}
	if (keys->link_state >= 0) {
		wanted->set |= RDMAD_STEP_VF_LINK_STATE;
		wanted->link_state = (guint32)keys->link_state;
	}
}

/* Returns the EUI-64 of a MAC address, as mlx5 derives it. */
static guint64 guid_of_mac(const RdmadMac *mac)
{
	const guint8 *b = mac->bytes;
	const guint8 eui[] = { b[0] ^ 2, b[1], b[2], 0xff, 0xfe, b[3], b[4], b[5] };
	guint64 guid = 0;

	for (guint i = 0; i < sizeof(eui); i++)
		guid = guid << 8 | eui[i];
	return guid;
}

static gboolean guid_is_zero(const char *guid)
{
	return !guid || guid[strspn(guid, "0:")] == '\0';
}

/* A virtual function whose driver was bound before it had an address has the node GUID 0, and
 * RDMA_CM does not find it. */
static gboolean guid_set(const Planner *planner, RdmadVfState *wanted, gboolean *rebind,
			 GError **error)
{
	const RdmadDevice *dev = planner->input->choice->device;
	const gboolean infiniband = planner->nic->mac.length == 20;
	guint64 guid = planner->input->request->guid;

	if (guid && !infiniband)
		return cni_refuse(error, CNI_ERROR_CONFIG, "infinibandGUID: %s is not InfiniBand",
				  planner->nic->name);
	if (!guid && !guid_is_zero(dev->node_guid))
		return TRUE;
	if (!guid && infiniband)
		return cni_refuse(error, CNI_ERROR_RDMA,
				  "%s has the node GUID 0, and the network gives it none "
				  "(infinibandGUID)",
				  dev->id);
	if (!guid)
		guid = guid_of_mac(planner->mac.length ? &planner->mac : &planner->nic->mac);
	wanted->set |= RDMAD_STEP_VF_GUIDS;
	wanted->node_guid = guid;
	wanted->port_guid = guid;
	*rebind = TRUE;
	return TRUE;
}

static const char *unsupported(guint32 set)
{
	static const char *const names[] = { "a MAC address", "a VLAN",	      "a rate", "spoofchk",
					     "trust",	      "a link state", "a GUID", "a GUID" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (set & 1u << i)
			return names[i];
	return "";
}

static gboolean vf_add(Planner *planner, const CniViewVf *vf, const RdmadVfState *wanted,
		       gboolean rebind, GError **error)
{
	const guint32 missing = wanted->set & ~vf->state.set;
	RdmadStep *step;

	if (missing)
		return cni_refuse(error, CNI_ERROR_DEVICE,
				  "the driver of %s does not set %s of a VF", vf->pf,
				  unsupported(missing));
	step = planner_step(planner, RDMAD_STEP_VF_SET, RDMAD_STEP_IN_HOST);
	step->vf.pf_index = vf->pf_index;
	step->vf.pf = g_strdup(vf->pf);
	step->vf.vf = vf->vf;
	step->vf.pci = g_strdup(vf->pci);
	step->vf.wanted = *wanted;
	step->vf.before = vf->state;
	step->vf.before.set = wanted->set;
	step->vf.rebind = rebind;
	return TRUE;
}

gboolean plan_sriov(Planner *planner, GError **error)
{
	const RdmadDevice *dev = planner->input->choice->device;
	const CniViewVf *vf = cni_view_vf(planner->input->host, dev->pci_address);
	RdmadVfState wanted = { 0 };
	gboolean rebind = FALSE;

	if (dev->pci_role != RDMAD_PCI_VF)
		return cni_refuse(error, CNI_ERROR_DEVICE, "%s is not a virtual function", dev->id);
	mac_set(planner, &wanted);
	vlan_set(planner, &wanted);
	keys_set(planner, &wanted);
	if (!guid_set(planner, &wanted, &rebind, error))
		return FALSE;
	if (wanted.set && !vf)
		return cni_refuse(error, CNI_ERROR_DEVICE,
				  "%s has no PF in the host, through which it could be set",
				  dev->id);
	return (!wanted.set || vf_add(planner, vf, &wanted, rebind, error)) &&
	       plan_exclusive(planner, error);
}
