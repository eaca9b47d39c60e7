/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPAM: another plugin says which addresses a NIC has
 *
 * It is found in CNI_PATH, then in `plugin_path`; gets the variables of CNI and tracing and PATH, and
 * the whole network on its standard input.  It ends with rdmad, by the kernel; processes that it
 * started are ended by the next rdmad (records.h).
 */
#pragma once

#include <rdmad/module.h>

#include "attachment.h"
#include "ipam/records.h"
#include "result.h"

typedef struct CniIpam CniIpam;

/* Called on the loop once.  `result` NULL for DEL, CHECK and GC; the caller's to keep.  CNI_ERROR_IPAM, or
 * CNI_ERROR_TRY_AGAIN at the deadline. */
typedef void (*CniIpamDone)(CniResult *result, const GError *error, gpointer data);

typedef struct {
	RdmadModule *self;
	const CniSettings *settings;
	CniIpamRecords *records;
	CniCommand command;
	const CniAttachment *attachment;
	const char *netns;  /* NULL: a DEL without one, GC */
	const char *ifname; /* of the NIC; NULL: GC */
} CniIpamCall;

/* NULL: it could not be started, and `done` is not called. */
CniIpam *cni_ipam_start(const CniIpamCall *call, CniIpamDone done, gpointer data, GError **error);
/* Ends it soon; `done` is called. */
void cni_ipam_terminate(CniIpam *ipam);
/* Kills it; `done` is not called.  NULL is fine. */
void cni_ipam_cancel(CniIpam *ipam);

/* ipam.type of a network, or NULL; g_free() */
char *cni_ipam_type(const char *config);
