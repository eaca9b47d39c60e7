/* SPDX-License-Identifier: Apache-2.0 */
/* One module's life: create, start, reload, drain, stop, destroy. */
#pragma once

#include <rdmad/module.h>

#include "module/services.h"

RdmadModule *rdmad_module_new(const RdmadServices *services, const RdmadModuleClass *klass);
/* Destroys and frees it; the number of things that it left in the core, which are freed too. */
guint rdmad_module_free(RdmadModule *module);

gboolean rdmad_module_create(RdmadModule *module, const RdmadConfigNode *config, GError **error);
gboolean rdmad_module_start(RdmadModule *module, GError **error);
gboolean rdmad_module_reload(RdmadModule *module, const RdmadConfigNode *config, GError **error);
/* `drained` is called once; maybe before this returns. */
void rdmad_module_drain(RdmadModule *module, void (*drained)(gpointer data), gpointer data);
/* Nothing for a module that was not started. */
void rdmad_module_stop(RdmadModule *module);

const char *rdmad_module_description(const RdmadModule *module);
struct json_t *rdmad_module_status(const RdmadModule *module);
/* `why` is set if it is not, even if the module gave no reason. */
gboolean rdmad_module_ready(const RdmadModule *module, char **why);
/* NULL: none, or not started. */
const RdmadCommand *rdmad_module_commands(const RdmadModule *module);
void rdmad_module_doctor(const RdmadModule *module, struct json_t *findings);
void rdmad_module_check(const RdmadModule *module, RdmadCheckFunc warn, gpointer data);
gboolean rdmad_module_device_health(const RdmadModule *module, const RdmadDevice *dev,
				    const char **problem);
