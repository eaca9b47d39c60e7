/* SPDX-License-Identifier: Apache-2.0 */
/* Readings before a pod gets SMC-R: by jobs, and by descriptors that the executor opened. */
#pragma once

#include <rdmad/netns.h>
#include <rdmad/work.h>

typedef struct {
	char *netns, *device;
	RdmadNetnsId netns_id; /* another one under that path is gone; 0: any */
} ErdmaSmcQuestion;

typedef struct {
	int netns; /* -1: gone */
	RdmadNetnsId netns_id;
	gboolean has_pnet; /* the device has its entry */
	char *pnetid;	   /* of that entry */
	char **eids;
	char *problem; /* why the host cannot do it; NULL: it can */
} ErdmaSmcHost;

void erdma_smc_question_free(gpointer question);
void erdma_smc_host_free(gpointer host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaSmcHost, erdma_smc_host_free)
/* ErdmaSmcQuestion to ErdmaSmcHost; `device` NULL: the namespace alone; `netns` NULL: the host alone. */
gpointer erdma_smc_look(gpointer question, const RdmadJob *job, GError **error);

typedef struct {
	int socket, tcp2smc; /* taken over; tcp2smc -1: the kernel has none */
} ErdmaSmcFiles;

typedef struct {
	char *interface; /* of the default route; NULL: there is none */
	char *tcp2smc;	 /* its value; NULL: there is none */
} ErdmaSmcNetwork;

void erdma_smc_files_free(gpointer files);
void erdma_smc_network_free(gpointer network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaSmcNetwork, erdma_smc_network_free)
/* ErdmaSmcFiles to ErdmaSmcNetwork. */
gpointer erdma_smc_look_pod(gpointer files, const RdmadJob *job, GError **error);
