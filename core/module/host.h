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
#include "module/services.h"

typedef struct RdmadModules RdmadModules;

/* A module that is to run. */
typedef struct {
	char *name;
	gboolean optional;	       /* we go on when it does not start */
	const RdmadConfigNode *config; /* NULL: not in the file */
} RdmadModuleEntry;

typedef enum {
	RDMAD_MODULE_CREATED, /* or only loaded */
	RDMAD_MODULE_RUNNING,
	RDMAD_MODULE_FAILED, /* an `optional` one that did not start */
	RDMAD_MODULE_STOPPED,
} RdmadModuleState;

/* For the CLI and the status page; borrowed. */
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
/* The reason why pods are not given the device, as the first module reports it that offers the device;
 * static text.  FALSE: no module offers it. */
gboolean rdmad_modules_device_health(const RdmadModules *modules, const RdmadDevice *dev,
				     const char **problem);
/* The mask of all that the loaded modules declare, for the daemon or for their executors. */
guint64 rdmad_modules_capabilities(const RdmadModules *modules, gboolean of_executors);
/* Whether one of them runs programs. */
gboolean rdmad_modules_run_programs(const RdmadModules *modules);
/* The same one by one; `process` is "daemon" or "executor". */
void rdmad_modules_foreach_capability(const RdmadModules *modules,
				      void (*fn)(const char *module, const char *process,
						 const RdmadCapability *capability, gpointer data),
				      gpointer data);
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

/* `entries`: RdmadModuleEntry *, in the order of their start.  The entry of that name, or NULL. */
const RdmadModuleEntry *rdmad_modules_entry(const GPtrArray *entries, const char *name);

/* Loads the modules of `entries` from `module_dir`; needs none of the services yet. */
gboolean rdmad_modules_load(RdmadModules *modules, const GPtrArray *entries, const char *module_dir,
			    GError **error);
/* Creates what was loaded. */
gboolean rdmad_modules_create(RdmadModules *modules, const GPtrArray *entries, GError **error);
/* Loads and creates them all, for --check; the error has a line for each module that fails. */
gboolean rdmad_modules_create_all(RdmadModules *modules, const GPtrArray *entries,
				  const char *module_dir, GError **error);
void rdmad_modules_check(const RdmadModules *modules, RdmadCheckFunc warn, gpointer data);
/* Starts what was created. */
gboolean rdmad_modules_start(RdmadModules *modules, GError **error);
/* Goes from `before` to `now`: reloads the modules that stay, starts those that are new, ends those
 * that are no longer named.  On an error all is as it was with `before`. */
gboolean rdmad_modules_reload(RdmadModules *modules, const GPtrArray *before, const GPtrArray *now,
			      const char *module_dir, GError **error);
/* `drained` is called once all modules have finished what is in flight; maybe before this returns. */
void rdmad_modules_drain(RdmadModules *modules, void (*drained)(gpointer data), gpointer data);
/* Last started first. */
void rdmad_modules_stop(RdmadModules *modules);
