/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state of host and pod before a pod gets SMC-R, by jobs and with descriptors that the
 * executor opened. */
#pragma once

#include <rdmad/netns.h>
#include <rdmad/work.h>

typedef struct {
	char *netns, *device;
	RdmadNetnsId netns_id; /* expected namespace under that path; 0: any */
} ErdmaSmcQuery;

typedef struct {
	int netns; /* -1: the namespace has ended */
	RdmadNetnsId netns_id;
	gboolean has_pnet; /* the device has an entry */
	char *pnetid;	   /* of that entry */
	char **eids;
	char *problem; /* why the host does not support SMC-R; NULL: it does */
} ErdmaSmcHost;

void erdma_smc_query_free(gpointer query);
void erdma_smc_host_free(gpointer host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaSmcHost, erdma_smc_host_free)
/* Job: ErdmaSmcQuery to ErdmaSmcHost.  `device` NULL: reads the namespace only; `netns` NULL: the
 * host only. */
gpointer erdma_smc_look(gpointer query, const RdmadJob *job, GError **error);

/* Descriptors, owned. */
typedef struct {
	int socket;
	int tcp2smc, disable_ipv6, default_ipv6; /* -1: not wanted, or the kernel lacks it */
} ErdmaSmcFiles;

typedef struct {
	char *interface;	      /* of the default route; NULL: none */
	char *tcp2smc, *disable_ipv6; /* values; NULL: not wanted, or the kernel lacks it */
	GPtrArray *ipv6_apart; /* of char *: interfaces whose disable_ipv6 differs; NULL: none */
} ErdmaSmcNetwork;

void erdma_smc_files_free(gpointer files);
void erdma_smc_network_free(gpointer network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaSmcNetwork, erdma_smc_network_free)
/* Job: ErdmaSmcFiles to ErdmaSmcNetwork. */
gpointer erdma_smc_look_pod(gpointer files, const RdmadJob *job, GError **error);
