/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of this process, in the order in which they were started
 *
 * A module that fails is an error, unless it is `optional`: then it stays in the list as failed, and
 * is tried again at every reload.
 */
#pragma once

#include <rdmad/module.h>

#include "config/config-private.h"
#include "daemon/services.h"
#include "daemon/settings.h"

typedef struct RdmadModules RdmadModules;

typedef enum {
	RDMAD_MODULE_CREATED, /* or only loaded */
	RDMAD_MODULE_RUNNING,
	RDMAD_MODULE_FAILED, /* an `optional` one that did not start */
	RDMAD_MODULE_STOPPED,
} RdmadModuleState;

/* What the CLI and the status page show; borrowed. */
typedef struct {
	const char *name, *description;
	RdmadModuleState state;
	const char *error; /* why it failed, or NULL */
	gboolean optional;
} RdmadModuleInfo;

guint rdmad_modules_count(const RdmadModules *modules);
void rdmad_modules_info(const RdmadModules *modules, guint index, RdmadModuleInfo *info);
/* FALSE: it cannot do its work now, for the reason `why` (g_free()). */
gboolean rdmad_modules_ready(const RdmadModules *modules, guint index, char **why);
/* The module's own status object (new reference), or NULL. */
struct json_t *rdmad_modules_status(const RdmadModules *modules, guint index);
void rdmad_modules_doctor(const RdmadModules *modules, struct json_t *findings);
/* The commands of modules that run. */
void rdmad_modules_foreach_command(const RdmadModules *modules,
				   void (*fn)(const char *module, const RdmadCommand *command,
					      gpointer data),
				   gpointer data);

/* `services` must outlive the modules. */
RdmadModules *rdmad_modules_new(const RdmadServices *services);
/* Destroys what was not destroyed, last made first. */
void rdmad_modules_free(RdmadModules *modules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadModules, rdmad_modules_free)

/* Loads the modules that the settings name; needs none of the services yet. */
gboolean rdmad_modules_load(RdmadModules *modules, const RdmadSettings *settings, GError **error);
/* Creates what was loaded. */
gboolean rdmad_modules_create(RdmadModules *modules, const RdmadSettings *settings, GError **error);
/* Starts what was created. */
gboolean rdmad_modules_start(RdmadModules *modules, GError **error);
/* Goes from `before` to `now`: reloads the modules that stay, starts those that are new, ends those
 * that are no longer named.  On an error all is as it was with `before`. */
gboolean rdmad_modules_reload(RdmadModules *modules, const RdmadSettings *before,
			      const RdmadSettings *now, GError **error);
/* `drained` is called once all modules have finished what is in flight; maybe before this returns. */
void rdmad_modules_drain(RdmadModules *modules, void (*drained)(gpointer data), gpointer data);
/* Last started first. */
void rdmad_modules_stop(RdmadModules *modules);
