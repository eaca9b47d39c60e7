/* SPDX-License-Identifier: Apache-2.0 */
/* Configures a VF through its PF, and verifies it: some drivers accept a setting without applying
 * it. */
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <rdmad/sysroot.h>
#include <string.h>

#include "network/perform.h"

#define REBIND_MS 10000

/* Both enums use the same bits. */
G_STATIC_ASSERT((guint)RDMAD_STEP_VF_MAC == (guint)RDMAD_VF_MAC);
G_STATIC_ASSERT((guint)RDMAD_STEP_VF_LINK_STATE == (guint)RDMAD_VF_LINK_STATE);
G_STATIC_ASSERT((guint)RDMAD_STEP_VF_GUIDS == (guint)(RDMAD_VF_NODE_GUID | RDMAD_VF_PORT_GUID));

static RdmadVf vf_of(const RdmadStepVfSet *step, const RdmadVfState *state,
		     char mac[RDMAD_MAC_TEXT])
{
	return (RdmadVf){
		.number = step->vf,
		.mac = state->mac.length ? (char *)rdmad_mac_format(&state->mac, mac) : NULL,
		.vlan = state->vlan,
		.qos = state->qos,
		.is_8021ad = state->vlan_protocol == ETH_P_8021AD,
		.min_rate = state->min_rate,
		.max_rate = state->max_rate,
		.spoofchk = state->spoof_check,
		.trust = state->trust,
		.link_state = (int)state->link_state,
		.node_guid = state->node_guid,
		.port_guid = state->port_guid,
	};
}

static const RdmadVf *vf_find(const RdmadLink *pf, guint number)
{
	for (guint i = 0; i < pf->n_vfs; i++)
		if (pf->vfs[i].number == number)
			return &pf->vfs[i];
	return NULL;
}

/* Returns the name of the first setting that differs, or NULL.  GUIDs are not compared: most
 * drivers do not report them. */
static const char *difference(const RdmadVf *is, const RdmadVf *wanted, guint32 set)
{
	RdmadMac mac = { 0 }, other = { 0 };

	if (set & RDMAD_STEP_VF_MAC && wanted->mac &&
	    !(is->mac && rdmad_mac_parse(is->mac, &mac) && rdmad_mac_parse(wanted->mac, &other) &&
	      rdmad_mac_equal(&mac, &other)))
		return "MAC address";
	if (set & RDMAD_STEP_VF_VLAN && (is->vlan != wanted->vlan || is->qos != wanted->qos))
		return "VLAN";
	if (set & RDMAD_STEP_VF_RATE && is->max_rate != wanted->max_rate)
		return "rate";
	if (set & RDMAD_STEP_VF_SPOOF_CHECK && is->spoofchk >= 0 &&
	    is->spoofchk != wanted->spoofchk)
		return "spoof check";
	if (set & RDMAD_STEP_VF_TRUST && is->trust >= 0 && is->trust != wanted->trust)
		return "trust";
	if (set & RDMAD_STEP_VF_LINK_STATE && is->link_state >= 0 &&
	    is->link_state != wanted->link_state)
		return "link state";
	return NULL;
}

static gboolean verify(const PerformContext *ctx, const RdmadStepVfSet *step, const RdmadVf *wanted,
		       guint32 set, GError **error)
{
	g_autoptr(RdmadLink) pf = rdmad_link_get(ctx->host, step->pf, error);
	const RdmadVf *is = pf ? vf_find(pf, step->vf) : NULL;
	const char *what = is ? difference(is, wanted, set) : "function";

	if (!pf || !what)
		return pf != NULL;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
		    "the driver of %s took the %s of VF %u, and has another", step->pf, what,
		    step->vf);
	return FALSE;
}

static gboolean driver_is_bound(gpointer data, GError **error)
{
	const PerformContext *ctx = ((gpointer *)data)[0];
	g_autofree char *path =
		g_strdup_printf("sys/bus/pci/devices/%s/net", (char *)((gpointer *)data)[1]);
	g_auto(GStrv) names = rdmad_sysroot_list(ctx->root, path, NULL);

	return names && names[0];
}

static gboolean driver_replace(const PerformContext *ctx, const char *pci, const char *driver,
			       GError **error)
{
	g_autofree char *unbind = g_strdup_printf("sys/bus/pci/drivers/%s/unbind", driver);
	g_autofree char *bind = g_strdup_printf("sys/bus/pci/drivers/%s/bind", driver);

	return rdmad_sysroot_write(ctx->root, unbind, pci, error) &&
	       rdmad_sysroot_write(ctx->root, bind, pci, error);
}

gboolean perform_rebind(const PerformContext *ctx, const char *pci, GError **error)
{
	g_autofree char *device = g_strdup_printf("sys/bus/pci/devices/%s/driver", pci);
	GError *why = NULL;
	g_autofree char *driver = rdmad_sysroot_link_name(ctx->root, device, &why);
	gpointer data[] = { (gpointer)ctx, (gpointer)pci };
	gboolean ok;

	if (why && !perform_forgive(&why, RDMAD_ERROR_NOT_FOUND)) {
		g_propagate_error(error, why);
		return FALSE;
	}
	/* An earlier run may have unbound the driver, which the kernel finds. */
	ok = driver ? driver_replace(ctx, pci, driver, error)
		    : rdmad_sysroot_write(ctx->root, "sys/bus/pci/drivers_probe", pci, error);
	return ok && perform_wait(ctx, REBIND_MS, driver_is_bound, data, error);
}

gboolean perform_vf(const PerformContext *ctx, const RdmadStepVfSet *step, gboolean back,
		    GError **error)
{
	const RdmadVfState *state = back ? &step->before : &step->wanted;
	char mac[RDMAD_MAC_TEXT];
	const RdmadVf vf = vf_of(step, state, mac);
	g_autoptr(RdmadLink) pf = rdmad_link_get(ctx->host, step->pf, error);

	return pf &&
	       (!state->set ||
		rdmad_vf_set(ctx->host, pf->ifindex, &vf, (RdmadVfFields)state->set, error)) &&
	       verify(ctx, step, &vf, state->set, error) &&
	       (!step->rebind || perform_rebind(ctx, step->pci, error));
}
