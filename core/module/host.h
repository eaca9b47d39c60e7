/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of this process, in the order of their start
 *
 * The failure of a module is an error, unless the module is `optional`: then it stays in the list
 * as failed, and every reload tries to start it again.
 */
#pragma once

#include <rdmad/module.h>

#include "config/config-private.h"
#include "module/services.h"

typedef struct RdmadModules RdmadModules;

/* A configured module. */
typedef struct {
	char *name;
	gboolean optional;	       /* rdmad continues if it does not start */
	const RdmadConfigNode *config; /* NULL: no group in the file */
} RdmadModuleEntry;

typedef enum {
	RDMAD_MODULE_CREATED, /* loaded or created */
	RDMAD_MODULE_RUNNING,
	RDMAD_MODULE_FAILED, /* optional, and did not start */
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
/* Returns FALSE, with the reason `why` (g_free()), if the module cannot do its work now. */
gboolean rdmad_modules_ready(const RdmadModules *modules, guint index, char **why);
/* Returns the module's status object (new reference), or NULL. */
struct json_t *rdmad_modules_status(const RdmadModules *modules, guint index);
void rdmad_modules_doctor(const RdmadModules *modules, struct json_t *findings);
/* Sets `problem` and `rest` as device_health() of RdmadModuleClass, of the first module that offers
 * the device.  Returns FALSE if no module offers it. */
gboolean rdmad_modules_device_health(const RdmadModules *modules, const RdmadDevice *dev,
				     const char **problem, const char **rest);
/* Returns the mask of the capabilities that the loaded modules declare for the daemon or for
 * executors. */
guint64 rdmad_modules_capabilities(const RdmadModules *modules, gboolean of_executors);
/* Returns whether any module runs programs. */
gboolean rdmad_modules_run_programs(const RdmadModules *modules);
/* Calls `fn` for each declared capability; `process` is "daemon" or "executor". */
void rdmad_modules_foreach_capability(const RdmadModules *modules,
				      void (*fn)(const char *module, const char *process,
						 const RdmadCapability *capability, gpointer data),
				      gpointer data);
/* Calls `fn` for each command of the running modules. */
void rdmad_modules_foreach_command(const RdmadModules *modules,
				   void (*fn)(const char *module, const RdmadCommand *command,
					      gpointer data),
				   gpointer data);

/* `services` must outlive the modules. */
RdmadModules *rdmad_modules_new(const RdmadServices *services);
/* Destroys the remaining modules, in the reverse order of their creation. */
void rdmad_modules_free(RdmadModules *modules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadModules, rdmad_modules_free)

/* `entries` has RdmadModuleEntry *, in the order of their start.  Returns the entry with this
 * name, or NULL. */
const RdmadModuleEntry *rdmad_modules_entry(const GPtrArray *entries, const char *name);

/* Loads the modules of `entries` from `module_dir`; uses none of the services. */
gboolean rdmad_modules_load(RdmadModules *modules, const GPtrArray *entries, const char *module_dir,
			    GError **error);
/* Creates the loaded modules. */
gboolean rdmad_modules_create(RdmadModules *modules, const GPtrArray *entries, GError **error);
/* Loads and creates all modules, for --check; the error has a line for each module that fails. */
gboolean rdmad_modules_create_all(RdmadModules *modules, const GPtrArray *entries,
				  const char *module_dir, GError **error);
/* Returns FALSE if a module that is not optional could not start in the place of a running
 * rdmad. */
gboolean rdmad_modules_rehearse(const RdmadModules *modules, GError **error);
void rdmad_modules_check(const RdmadModules *modules, RdmadCheckFunc warn, gpointer data);
/* Starts the created modules. */
gboolean rdmad_modules_start(RdmadModules *modules, GError **error);
/* Changes from `before` to `now`: reloads the modules that are in both, starts the new ones, and
 * stops the removed ones.  On an error, restores the state of `before`. */
gboolean rdmad_modules_reload(RdmadModules *modules, const GPtrArray *before, const GPtrArray *now,
			      const char *module_dir, GError **error);
/* Calls `drained` once all modules have finished in-flight requests, possibly before this function
 * returns. */
void rdmad_modules_drain(RdmadModules *modules, void (*drained)(gpointer data), gpointer data);
/* Stops in the reverse order of the start. */
void rdmad_modules_stop(RdmadModules *modules);
