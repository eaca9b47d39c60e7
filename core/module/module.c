/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "daemon"

#include "module/module.h"

#include <rdmad/error.h>
#include <rdmad/log.h>

#include "base/loop.h"
#include "base/work.h"
#include "http/http.h"
#include "service/allocations-private.h"
#include "service/attributes-private.h"
#include "service/inventory-private.h"
#include "service/event-log-private.h"
#include "service/stats-private.h"
#include "service/pods-private.h"
#include "service/pod-metadata-private.h"
#include "service/preparations-private.h"
#include "service/state.h"

struct RdmadModule {
	const RdmadServices *services;
	const RdmadModuleClass *klass;
	gpointer state;	      /* NULL: not created */
	gboolean was_created; /* create() was called, so it may own objects of the core */
	gboolean started;
	void (*drained)(gpointer data); /* NULL: not draining */
	gpointer drained_data;
};

RdmadModule *rdmad_module_new(const RdmadServices *services, const RdmadModuleClass *klass)
{
	RdmadModule *module = g_new0(RdmadModule, 1);

	module->services = services;
	module->klass = klass;
	return module;
}

/* Prefixes the error with the module's name, and sets an error if the module did not. */
static gboolean module_failed(const RdmadModule *module, const char *step, GError **error)
{
	if (error && !*error)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "%s failed without a reason",
			    step);
	/* A configuration error begins with its file and line. */
	if (error && !g_error_matches(*error, RDMAD_ERROR, RDMAD_ERROR_CONFIG))
		g_prefix_error(error, "module %s: ", module->klass->name);
	return FALSE;
}

gboolean rdmad_module_create(RdmadModule *module, const RdmadConfigNode *config, GError **error)
{
	module->was_created = TRUE;
	module->state = module->klass->create(module, config, error);
	return module->state || module_failed(module, "create", error);
}

gboolean rdmad_module_start(RdmadModule *module, GError **error)
{
	module->started = module->klass->start(module->state, error);
	return module->started || module_failed(module, "start", error);
}

gboolean rdmad_module_reload(RdmadModule *module, const RdmadConfigNode *config, GError **error)
{
	if (!module->klass->reload) {
		rdmad_notice("module %s cannot reload: it keeps its settings until a restart",
			     module->klass->name);
		return TRUE;
	}
	return module->klass->reload(module->state, config, error) ||
	       module_failed(module, "reload", error);
}

void rdmad_module_drain(RdmadModule *module, void (*drained)(gpointer data), gpointer data)
{
	module->drained = drained;
	module->drained_data = data;
	if (module->started && module->klass->drain)
		module->klass->drain(module->state);
	else
		rdmad_module_drained(module);
}

void rdmad_module_drained(RdmadModule *module)
{
	void (*const drained)(gpointer data) = module->drained;

	module->drained = NULL;
	if (drained)
		drained(module->drained_data);
}

void rdmad_module_stop(RdmadModule *module)
{
	if (!module->started)
		return;
	module->started = FALSE;
	module->drained = NULL;
	module->klass->stop(module->state);
}

static guint reap_note(GString *text, guint n, const char *what)
{
	if (n)
		g_string_append_printf(text, "%s%u %s%s", text->len ? ", " : "", n, what,
				       n == 1 ? "" : "s");
	return n;
}

/* Frees watches and jobs first: freeing them may use events of the loop. */
static guint module_reap(RdmadModule *module)
{
	const RdmadServices *core = module->services;
	g_autoptr(GString) left = g_string_new(NULL);
	guint n = 0;

	n += reap_note(left, rdmad_workers_reap(core->workers, module), "job");
	n += reap_note(left, rdmad_preparations_reap(core->preparations, module), "preparation");
	n += reap_note(left, rdmad_pod_metadata_reap(core->pod_metadata, module),
		       "query of pod metadata");
	n += reap_note(left, rdmad_pods_reap(core->pods, module), "pod query");
	n += reap_note(left, rdmad_allocations_reap(core->allocations, module), "allocation watch");
	n += reap_note(left, rdmad_inventory_reap(core->inventory, module), "inventory watch");
	n += reap_note(left, rdmad_event_log_reap(core->event_log, module), "event log watch");
	n += reap_note(left, rdmad_http_reap(core->http, module), "HTTP route");
	n += reap_note(left, rdmad_attributes_reap(core->attributes, module), "attribute");
	n += reap_note(left, rdmad_state_tables_reap(core->state, module), "table set");
	rdmad_stats_reap(core->stats, module);
	n += reap_note(left, rdmad_loop_reap(core->loop, module), "loop object");
	if (n)
		rdmad_warn("module %s left %s behind; freed", module->klass->name, left->str);
	return n;
}

guint rdmad_module_free(RdmadModule *module)
{
	guint left = 0;

	rdmad_module_stop(module);
	if (module->state)
		module->klass->destroy(module->state);
	if (module->was_created)
		left = module_reap(module);
	g_free(module);
	return left;
}

const char *rdmad_module_description(const RdmadModule *module)
{
	return module->klass->description;
}

struct json_t *rdmad_module_status(const RdmadModule *module)
{
	if (!module->started || !module->klass->status)
		return NULL;
	return module->klass->status(module->state);
}

gboolean rdmad_module_ready(const RdmadModule *module, char **why)
{
	if (!module->klass->ready || module->klass->ready(module->state, why))
		return TRUE;
	if (!*why)
		*why = g_strdup("it gave no reason");
	return FALSE;
}

void rdmad_module_doctor(const RdmadModule *module, struct json_t *findings)
{
	if (module->started && module->klass->doctor)
		module->klass->doctor(module->state, findings);
}

gboolean rdmad_module_rehearse(const RdmadModule *module, GError **error)
{
	return !module->klass->rehearse || module->klass->rehearse(module->state, error);
}

void rdmad_module_check(const RdmadModule *module, RdmadCheckFunc warn, gpointer data)
{
	if (module->klass->check)
		module->klass->check(module->state, warn, data);
}

gboolean rdmad_module_device_health(const RdmadModule *module, const RdmadDevice *dev,
				    const char **problem, const char **rest)
{
	return module->started && module->klass->device_health &&
	       module->klass->device_health(module->state, dev, problem, rest);
}

const RdmadCommand *rdmad_module_commands(const RdmadModule *module)
{
	return module->started ? module->klass->commands : NULL;
}

const char *rdmad_module_name(const RdmadModule *module)
{
	return module->klass->name;
}

RdmadLoop *rdmad_module_loop(RdmadModule *module)
{
	return module->services->loop;
}

RdmadHandOver *rdmad_module_hand_over(RdmadModule *module)
{
	return module->services->hand_over;
}

RdmadWorkers *rdmad_module_workers(RdmadModule *module)
{
	return module->services->workers;
}

RdmadInventory *rdmad_module_inventory(RdmadModule *module)
{
	return module->services->inventory;
}

RdmadAllocations *rdmad_module_allocations(RdmadModule *module)
{
	return module->services->allocations;
}

RdmadPods *rdmad_module_pods(RdmadModule *module)
{
	return module->services->pods;
}

RdmadPodMetadata *rdmad_module_pod_metadata(RdmadModule *self)
{
	return self->services->pod_metadata;
}

RdmadPreparations *rdmad_module_preparations(RdmadModule *module)
{
	return module->services->preparations;
}

RdmadState *rdmad_module_state(RdmadModule *module)
{
	return module->services->state;
}

RdmadAttributes *rdmad_module_attributes(RdmadModule *module)
{
	return module->services->attributes;
}

RdmadEventLog *rdmad_module_event_log(RdmadModule *module)
{
	return module->services->event_log;
}

RdmadHttp *rdmad_module_http(RdmadModule *module)
{
	return module->services->http;
}

RdmadStats *rdmad_module_stats(RdmadModule *module)
{
	return module->services->stats;
}

const RdmadSysroot *rdmad_module_sysroot(RdmadModule *module)
{
	return module->services->sysroot;
}

RdmadKeeper *rdmad_module_keeper(RdmadModule *module)
{
	return module->services->privileges.keeper;
}

const char *rdmad_module_run_dir(const RdmadModule *module)
{
	return module->services->run_dir;
}

const char *rdmad_module_state_dir(const RdmadModule *module)
{
	return module->services->state_dir;
}

const char *rdmad_module_kubelet_dir(const RdmadModule *module)
{
	return module->services->kubelet_dir;
}
