/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan of one NIC: the steps from the state of its interface to the wanted one
 *
 * Pure: it takes a view, settings, the metadata and what was done before, and gives steps or the reason
 * why there are none.  NICs are planned one after another, each upon a new view, for the metric of one
 * depends on the others.
 *
 * Metrics: a route gets max(settings->metric, the highest of others to the same destination + 1), and the
 * next one that is free among the NICs of this module, so that the primary NIC keeps its traffic.  A new route is there before an old one goes, and the route of an
 * address's prefix has its metric from the beginning (IFA_RT_PRIORITY).  A route that rdmad did not make is
 * lowered only where it is before another interface's, and the last default route never goes.
 */
#pragma once

#include "nic/match.h"
#include "nic/nic-settings.h"
#include "nic/view.h"

/* rtm_protocol of rdmad's routes and rules: a number that nobody else has (/etc/iproute2/rt_protos). */
#define ERDMA_PROTOCOL 237u

#define ERDMA_MTU_JUMBO 8500u
#define ERDMA_MTU_PLAIN 1400u /* NCCL's LL128 has inconsistent data with another one */

/* The addresses that a NIC should have, by one of the sources, or that it was given before. */
typedef struct {
	ErdmaAddressFrom from; /* NETDEV, METADATA, STATIC */
	GArray *addresses;     /* of RdmadIp, with their prefixes */
	RdmadIp gateway[2];    /* IPv4, IPv6; or none */
	gboolean complete;     /* all of it was done */
} ErdmaNicNetwork;

typedef struct {
	const ErdmaNicSettings *settings;
	const ErdmaView *view;
	const GPtrArray *matches;	 /* of ErdmaMatch: all eRDMA devices */
	const ErdmaMatch *match;	 /* the one that is planned */
	const ErdmaNicNetwork *metadata; /* NULL: not known */
	gboolean metadata_failed;	 /* it was asked, in vain */
	const ErdmaNicNetwork *done;	 /* what rdmad set before; NULL: nothing */
	RdmadMac primary_mac;		 /* by the metadata service, or none */
} ErdmaPlanInput;

typedef enum {
	ERDMA_NIC_READY,    /* as it should be */
	ERDMA_NIC_CHANGES,  /* `steps` are to be done */
	ERDMA_NIC_METADATA, /* the metadata service is to be asked first */
	ERDMA_NIC_PRIMARY,  /* never touched, as the following */
	ERDMA_NIC_EXCLUDED,
	ERDMA_NIC_FOREIGN, /* somebody else's */
	ERDMA_NIC_REFUSED, /* cannot be configured */
	ERDMA_N_NIC_STATES,
} ErdmaNicState;

typedef struct {
	ErdmaNicState state;
	char *reason;		 /* NULL for READY */
	ErdmaNicNetwork *wanted; /* without addresses where none are known */
	guint mtu;		 /* 0: as it is */
	GPtrArray *steps;	 /* of RdmadStep */
	char *note;		 /* what is not as it should be, but left alone; or NULL */
} ErdmaPlan;

ErdmaPlan *erdma_plan(const ErdmaPlanInput *input);
void erdma_plan_free(ErdmaPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaPlan, erdma_plan_free)

/* "ready", "primary", ... */
const char *erdma_nic_state_name(ErdmaNicState state);
/* The entry of `addresses` for a NIC, or NULL. */
const ErdmaNicAddresses *erdma_nic_static(const ErdmaNicSettings *settings,
					  const ErdmaMatch *match);

ErdmaNicNetwork *erdma_nic_network_new(ErdmaAddressFrom from);
ErdmaNicNetwork *erdma_nic_network_copy(const ErdmaNicNetwork *network);
void erdma_nic_network_free(ErdmaNicNetwork *network);
gboolean erdma_nic_network_has(const ErdmaNicNetwork *network, const RdmadIp *ip);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaNicNetwork, erdma_nic_network_free)
