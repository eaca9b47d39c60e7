/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPAM: another plugin assigns the addresses of a NIC
 *
 * The plugin is searched in CNI_PATH, then in `plugin_path`.  It gets the variables of CNI and
 * tracing, PATH, and the whole network configuration on its standard input, for CHECK with
 * prevResult. It outlives rdmad, and the next rdmad awaits its end (records.h).
 */
#pragma once

#include <rdmad/module.h>

#include "attachment.h"
#include "ipam/records.h"
#include "result.h"

typedef struct CniIpam CniIpam;

/* Called once, on the loop.  `result` is NULL after an error, and for other commands than ADD; else
 * the callee owns it. CNI_ERROR_IPAM, for STATUS CNI_ERROR_NOT_AVAILABLE or CNI_ERROR_LIMITED;
 * CNI_ERROR_TRY_AGAIN, also at the deadline; CNI_ERROR_VERSION: the plugin refused the version. */
typedef void (*CniIpamDone)(CniResult *result, const GError *error, gpointer data);

typedef struct {
	RdmadModule *self;
	const CniSettings *settings;
	CniIpamRecords *records;
	CniCommand command;
	const CniAttachment *attachment;
	const char *netns;	       /* NULL: DEL without a namespace, GC, STATUS */
	const CniNic *nic;	       /* NULL: GC, STATUS */
	const struct json_t *previous; /* CHECK: prevResult; NULL: none */
} CniIpamCall;

/* Returns NULL if the plugin could not be started; `done` is not called. */
CniIpam *cni_ipam_start(const CniIpamCall *call, CniIpamDone done, gpointer data, GError **error);
/* Within `done`: returns whether the plugin has answered with an error that does not pass.  An ADD
 * that a plugin has refused gave no address. */
gboolean cni_ipam_has_refused(const CniIpam *ipam);
/* Terminates the plugin if it does not end soon.  `done` is called. */
void cni_ipam_terminate(CniIpam *ipam);
/* Kills the plugin.  `done` is not called.  `ipam` may be NULL. */
void cni_ipam_cancel(CniIpam *ipam);

/* Returns ipam.type of a network configuration, or NULL; g_free(). */
char *cni_ipam_type(const char *config);
