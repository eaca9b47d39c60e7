/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of one module: create, start, reload, drain, stop, destroy */
#pragma once

#include <rdmad/module.h>

#include "module/services.h"

RdmadModule *rdmad_module_new(const RdmadServices *services, const RdmadModuleClass *klass);
/* Destroys and frees the module.  Returns the number of objects that it left in the core, which are
 * freed too. */
guint rdmad_module_free(RdmadModule *module);

gboolean rdmad_module_create(RdmadModule *module, const RdmadConfigNode *config, GError **error);
gboolean rdmad_module_start(RdmadModule *module, GError **error);
gboolean rdmad_module_reload(RdmadModule *module, const RdmadConfigNode *config, GError **error);
/* Calls `drained` once, possibly before this function returns. */
void rdmad_module_drain(RdmadModule *module, void (*drained)(gpointer data), gpointer data);
/* Does nothing for a module that was not started. */
void rdmad_module_stop(RdmadModule *module);

const char *rdmad_module_description(const RdmadModule *module);
struct json_t *rdmad_module_status(const RdmadModule *module);
/* Returns FALSE, and always sets `why`, if the module is not ready. */
gboolean rdmad_module_ready(const RdmadModule *module, char **why);
/* Returns NULL if there are no commands or the module is not started. */
const RdmadCommand *rdmad_module_commands(const RdmadModule *module);
void rdmad_module_doctor(const RdmadModule *module, struct json_t *findings);
gboolean rdmad_module_rehearse(const RdmadModule *module, GError **error);
void rdmad_module_check(const RdmadModule *module, RdmadCheckFunc warn, gpointer data);
gboolean rdmad_module_device_health(const RdmadModule *module, const RdmadDevice *dev,
				    const char **problem, const char **rest);
