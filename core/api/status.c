/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/status, POST /api/v1/rescan */
#include <rdmad/allocations.h>
#include <rdmad/clock.h>
#include <rdmad/inventory.h>
#include <rdmad/event-log.h>
#include <rdmad/pods.h>
#include <rdmad/sysroot.h>
#include <unistd.h>

#include "base/log.h"
#include "build-info.h"
#include "module/host.h"
#include "service/scanner.h"
#include "api/json.h"
#include "http/http.h"

#define RECENT_ERRORS 5u

static json_t *module_json(const RdmadModules *modules, guint index)
{
	static const char *const states[] = { "created", "running", "failed", "stopped" };
	json_t *status = rdmad_modules_status(modules, index);
	json_t *object = json_object();
	RdmadModuleInfo info;

	rdmad_modules_info(modules, index, &info);
	api_set(object, "name", rdmad_json_string(info.name));
	api_set(object, "description", rdmad_json_string(info.description));
	api_set(object, "state", json_string(states[info.state]));
	api_set(object, "error", rdmad_json_string(info.error));
	api_set(object, "status", status ? status : json_null());
	return object;
}

static json_t *modules_json(const RdmadModules *modules)
{
	json_t *array = json_array();

	for (guint i = 0; i < rdmad_modules_count(modules); i++)
		json_array_append_new(array, module_json(modules, i));
	return array;
}

static gboolean device_is_active(const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].state == RDMAD_PORT_ACTIVE)
			return TRUE;
	return FALSE;
}

static json_t *devices_json(const RdmadServices *services)
{
	RdmadInventory *inventory = services->inventory;
	const guint count = rdmad_inventory_count(inventory);
	guint active = 0, unhealthy = 0;
	json_t *object = json_object();

	for (guint i = 0; i < count; i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(inventory, i);

		active += device_is_active(dev);
		unhealthy += api_device_health(services, dev).problem != NULL;
	}
	api_set(object, "count", json_integer(count));
	api_set(object, "active", json_integer(active));
	api_set(object, "unhealthy", json_integer(unhealthy));
	api_set(object, "gpus", json_integer(rdmad_inventory_gpu_count(inventory)));
	return object;
}

/* Collects the newest warnings and errors, oldest first. */
static void recent_errors_add(const RdmadEventLogEntry *entry, gpointer data)
{
	json_t *array = data, *object;

	if (entry->level > RDMAD_LOG_WARNING)
		return;
	if (json_array_size(array) == RECENT_ERRORS)
		json_array_remove(array, 0);
	object = json_object();
	api_set(object, "time", api_json_time(entry->time_us));
	api_set(object, "level", json_string(rdmad_log_level_name(entry->level)));
	api_set(object, "message", rdmad_json_string(entry->message));
	json_array_append_new(array, object);
}

static json_t *recent_errors_json(RdmadEventLog *event_log)
{
	json_t *array = json_array();

	rdmad_event_log_foreach(event_log, 0, recent_errors_add, array);
	return array;
}

typedef struct {
	char *name, *kernel;
} Machine;

static void machine_free(gpointer data)
{
	Machine *machine = data;

	g_free(machine->name);
	g_free(machine->kernel);
	g_free(machine);
}

static gpointer machine_read(gpointer sysroot, const RdmadJob *job, GError **error)
{
	Machine *machine = g_new0(Machine, 1);

	machine->name = rdmad_sysroot_read(sysroot, "proc/sys/kernel/hostname", NULL);
	machine->kernel = rdmad_sysroot_read(sysroot, "proc/sys/kernel/osrelease", NULL);
	return machine;
}

static const RdmadJobClass machine_class = {
	.name = "api-status",
	.run = machine_read,
	.done = api_resource_read,
	.free_result = machine_free,
};

static json_t *machine_json(const RdmadServices *services, const Machine *machine)
{
	json_t *object = json_object();

	api_set(object, "name", rdmad_json_string(machine ? machine->name : NULL));
	api_set(object, "live", json_boolean(rdmad_sysroot_is_live(services->sysroot)));
	api_set(object, "kernel", rdmad_json_string(machine ? machine->kernel : NULL));
	return object;
}

static json_t *config_json(const RdmadServices *services)
{
	json_t *object = json_object();

	api_set(object, "path", rdmad_json_string(services->config_path));
	api_set(object, "loaded", api_json_time(services->config_loaded_us));
	api_set(object, "error", rdmad_json_string(services->config_error));
	return object;
}

static json_t *directories_json(const RdmadServices *services)
{
	json_t *object = json_object();

	api_set(object, "run", rdmad_json_string(services->run_dir));
	api_set(object, "state", rdmad_json_string(services->state_dir));
	api_set(object, "kubelet", rdmad_json_string(services->kubelet_dir));
	return object;
}

static json_t *listener_json(const RdmadHttp *http, guint index)
{
	RdmadHttpListenerInfo info;
	json_t *object = json_object();

	rdmad_http_listener_info(http, index, &info);
	api_set(object, "address", rdmad_json_string(info.address));
	api_set(object, "public", json_boolean(info.scope != RDMAD_HTTP_LOCAL));
	api_set(object, "connections", json_integer(info.connections));
	api_set(object, "tls", json_boolean(info.tls));
	api_set(object, "client_certificates", json_boolean(info.certificates));
	api_set(object, "passwords", json_boolean(info.passwords));
	api_set(object, "web_config", rdmad_json_string(info.web_config));
	api_set(object, "error", rdmad_json_string(info.web_config_error));
	return object;
}

static json_t *listeners_json(const RdmadHttp *http)
{
	json_t *array = json_array();

	for (guint i = 0; i < rdmad_http_listener_count(http); i++)
		json_array_append_new(array, listener_json(http, i));
	return array;
}

static json_t *texts_json(char *const *texts)
{
	json_t *array = json_array();

	for (guint i = 0; texts && texts[i]; i++)
		json_array_append_new(array, rdmad_json_string(texts[i]));
	return array;
}

static GBytes *status_build(const RdmadServices *s, gconstpointer read)
{
	const gint64 uptime_us = rdmad_wall_us() - s->started_us;
	json_t *object = json_object();

	api_set(object, "version", json_string(RDMAD_VERSION));
	api_set(object, "pid", json_integer(getpid()));
	api_set(object, "started", api_json_time(s->started_us));
	api_set(object, "uptime_seconds", json_integer(MAX(uptime_us, 0) / G_USEC_PER_SEC));
	api_set(object, "instance", rdmad_json_string(s->instance));
	api_set(object, "other_instances", texts_json(s->other_instances));
	api_set(object, "config", config_json(s));
	api_set(object, "machine", machine_json(s, read));
	api_set(object, "directories", directories_json(s));
	api_set(object, "state_set_aside", rdmad_json_string(s->state_set_aside));
	api_set(object, "seccomp", json_string(rdmad_seccomp_names[s->privileges.seccomp]));
	api_set(object, "listeners", listeners_json(s->http));
	api_set(object, "modules", modules_json(s->modules));
	api_set(object, "devices", devices_json(s));
	api_set(object, "allocations", json_integer(rdmad_allocations_count(s->allocations)));
	api_set(object, "recent_errors", recent_errors_json(s->event_log));
	return api_json_bytes(object);
}

static const ApiResource status_resource = {
	.build = status_build,
	.read = &machine_class,
	.input = api_sysroot_input,
};

void api_get_status(RdmadHttpRequest *request, gpointer data)
{
	api_reply_shared(request, data, API_SHARED_STATUS, &status_resource);
}

void api_post_rescan(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	const char *name = rdmad_http_request_query(request, "device");
	const RdmadDevice *dev = name ? api_find_device(services, name) : NULL;

	if (name && !dev) {
		rdmad_http_fail(request, 404, "there is no RDMA device \"%s\"", name);
		return;
	}
	if (dev)
		rdmad_hardware_hint_device(services->hardware, dev->id);
	else
		rdmad_hardware_hint(services->hardware);
	rdmad_http_reply_json(request, json_pack("{s:b}", "accepted", TRUE));
}
