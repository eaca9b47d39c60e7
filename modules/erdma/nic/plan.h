/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan of one NIC: the steps from the present state of its interface to the configured one
 *
 * The planner is pure: from a view, the settings, the metadata and the addresses set before it
 * makes steps, or the reason why there are none.  NICs are planned one after another, each from a
 * new view, because the metric of one depends on the others.
 *
 * Metrics: a route gets max(settings->metric, the highest metric of other routes to the same
 * destination + 1), or the next one that is free among the NICs of this module, so that the primary
 * NIC keeps its traffic.  A new route is added before an old one is removed, and the route of an
 * address's prefix has its metric from the beginning (IFA_RT_PRIORITY).  The metric of a route that
 * rdmad did not make is raised only if the route takes precedence over another interface's, and the
 * last default route is never removed.
 */
#pragma once

#include "nic/match.h"
#include "nic/nic-settings.h"
#include "nic/view.h"

/* rtm_protocol of rdmad's routes and rules, unused by others (/etc/iproute2/rt_protos). */
#define ERDMA_PROTOCOL 237u

#define ERDMA_MTU_JUMBO 8500u
#define ERDMA_MTU_PLAIN 1400u /* NCCL's LL128 has inconsistent data with other values */

/* The addresses of a NIC: from one of the sources, or as set before. */
typedef struct {
	ErdmaAddressFrom from; /* NETDEV, METADATA, STATIC */
	GArray *addresses;     /* of RdmadIp, with their prefixes */
	GArray *former;	       /* of RdmadIp: those that rdmad had set, and removes */
	RdmadIp gateway[2];    /* IPv4, IPv6; or unset */
	gboolean complete;     /* everything was set */
} ErdmaNicNetwork;

typedef struct {
	const ErdmaNicSettings *settings;
	const ErdmaView *view;
	const GPtrArray *matches;	 /* of ErdmaMatch: all eRDMA devices */
	const ErdmaMatch *match;	 /* the NIC to plan */
	const ErdmaNicNetwork *metadata; /* NULL: unknown */
	gboolean metadata_failed;	 /* the last query failed */
	const ErdmaNicNetwork *done;	 /* set by rdmad before; NULL: nothing */
	/* Indexes (int) of the links that rdmad has configured, also of those whose device is
	 * gone. */
	const GArray *managed;
	RdmadMac primary_mac; /* from the metadata service, or unset */
	gboolean is_given;    /* to a pod, which may have the interface in its namespace */
} ErdmaPlanInput;

typedef enum {
	ERDMA_NIC_READY,    /* configured */
	ERDMA_NIC_CHANGES,  /* `steps` are to be run */
	ERDMA_NIC_METADATA, /* the metadata service must be queried first */
	ERDMA_NIC_PRIMARY,  /* never changed, like the following */
	ERDMA_NIC_EXCLUDED, /* by the settings, or in a pod */
	ERDMA_NIC_FOREIGN,  /* managed by another program */
	ERDMA_NIC_REFUSED,  /* cannot be configured */
	ERDMA_N_NIC_STATES,
} ErdmaNicState;

typedef struct {
	ErdmaNicState state;
	char *reason;		 /* NULL for READY */
	ErdmaNicNetwork *wanted; /* has no addresses if none are known */
	guint mtu;		 /* 0: unchanged */
	GPtrArray *steps;	 /* of RdmadStep */
	char *note;		 /* a difference that is left alone, or NULL */
} ErdmaPlan;

ErdmaPlan *erdma_plan(const ErdmaPlanInput *input);
void erdma_plan_free(ErdmaPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaPlan, erdma_plan_free)

/* "ready", "primary", ... */
const char *erdma_nic_state_name(ErdmaNicState state);
/* Returns the entry of `addresses` for a NIC, or NULL. */
const ErdmaNicAddresses *erdma_nic_static(const ErdmaNicSettings *settings,
					  const ErdmaMatch *match);

ErdmaNicNetwork *erdma_nic_network_new(ErdmaAddressFrom from);
/* Copies it without former addresses. */
ErdmaNicNetwork *erdma_nic_network_copy(const ErdmaNicNetwork *network);
void erdma_nic_network_free(ErdmaNicNetwork *network);
gboolean erdma_nic_network_has(const ErdmaNicNetwork *network, const RdmadIp *ip);
/* Returns whether rdmad has set the address, which is none of others. */
gboolean erdma_nic_network_set(const ErdmaNicNetwork *network, const RdmadIp *ip);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaNicNetwork, erdma_nic_network_free)
