/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of a network namespace, as plan/ needs them
 *
 * Of the host: the NICs of the request, the links on top of them, their PFs' virtual functions.  Of
 * the pod: everything.  A look fills a view in; a plan is made from it without reading the
 * namespace again.
 */
#pragma once

#include <rdmad/step.h>

typedef struct {
	guint32 index;
	char *name;
	char **altnames; /* NULL: none */
	char *kind;	 /* "macvlan", "ipvlan", "vlan", "ipoib", ..; NULL: a NIC */
	guint32 parent;	 /* IFLA_LINK in this namespace; 0: none */
	guint32 peer;	 /* the same, of a veth its other end */
	guint32 master;	 /* IFLA_MASTER: its bond or bridge; 0: none */
	RdmadMac mac, permanent_mac;
	guint32 mtu, max_mtu; /* max_mtu 0: unknown */
	gboolean up;
	guint32 flags, link_mode, xdp; /* as in RdmadLink */
	guint32 group;		       /* IFLA_GROUP */
	gboolean moves;		       /* of the host: into the pod */
	char *pci;		       /* NULL: none */
	char *parent_device;	       /* as in RdmadLink */
} CniViewLink;

typedef struct {
	RdmadStepRoute route; /* of the hop over the NIC that was looked at, or of the first one */
	guint hops;
	gboolean partial; /* it has more than `route` and `hops` */
} CniViewRoute;

typedef struct {
	guint32 pf_index;
	char *pf;
	guint32 vf;
	char *pci;
	RdmadVfState state; /* `set`: the attributes that the PF's driver reports */
} CniViewVf;

typedef struct {
	GArray *links;		/* of CniViewLink */
	GArray *addresses;	/* of RdmadStepAddress, with their links */
	GArray *routes;		/* of CniViewRoute */
	GArray *rules;		/* of RdmadStepRule */
	GArray *neighbours;	/* of RdmadStepNeighbour: permanent entries */
	GArray *sysctls;	/* of RdmadStepSysctl with their current values */
	GArray *vfs;		/* of CniViewVf */
	gboolean has_ipv6;	/* of the pod: a new link has it */
	gboolean may_have_ipv6; /* the link's sysctl can be set */
} CniView;

CniView *cni_view_new(void);
void cni_view_free(CniView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniView, cni_view_free)

/* Finds a link by its name or an alternative name.  NULL: not found. */
const CniViewLink *cni_view_link(const CniView *view, const char *name);
const CniViewVf *cni_view_vf(const CniView *view, const char *pci);
/* Returns NULL if the value is unknown. */
const char *cni_view_sysctl(const CniView *view, const char *path);
/* Returns whether a route or rule uses a table. */
gboolean cni_view_table_is_used(const CniView *view, guint32 table);
/* Returns whether an address is of the link `link` and kept: the kernel makes link-local and
 * temporary ones of IPv6 itself. */
gboolean cni_view_address_is_kept(const RdmadStepAddress *address, const char *link);
/* Returns the gateway of a route over the link that is in the network of `ip`; unset: none. */
RdmadIp cni_view_gateway(const CniView *view, const char *link, const RdmadIp *ip);
gboolean cni_view_has_default_route(const CniView *view, int family);
/* Returns whether a default route of the link has the lowest metric of all those of links that do
 * not move. One by router advertisement counts only if the host has no other, in either family. */
gboolean cni_view_is_way_out(const CniView *view, int family, const char *link);
