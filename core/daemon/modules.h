/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of this process, in the order in which they were started. */
#pragma once

#include <rdmad/module.h>

#include "config/config-private.h"
#include "daemon/services.h"

typedef struct RdmadModules RdmadModules;

typedef enum {
	RDMAD_MODULE_CREATED,
	RDMAD_MODULE_RUNNING,
	RDMAD_MODULE_FAILED,	/* an `optional` one that did not start */
	RDMAD_MODULE_STOPPED,
} RdmadModuleState;

/* What the CLI and the status page show; borrowed. */
typedef struct {
	const char *name, *description;
	RdmadModuleState state;
	const char *error;	/* why it failed, or NULL */
} RdmadModuleInfo;

guint rdmad_modules_count(const RdmadModules *modules);
void rdmad_modules_info(const RdmadModules *modules, guint index, RdmadModuleInfo *info);
/* The module's own status object (new reference), or NULL. */
struct json_t *rdmad_modules_status(const RdmadModules *modules, guint index);
void rdmad_modules_doctor(const RdmadModules *modules, struct json_t *findings);
