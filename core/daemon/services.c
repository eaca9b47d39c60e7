/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/services.h"

#include <errno.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>

#include "base/loop.h"
#include "base/work.h"
#include "daemon/daemon-stats.h"
#include "module/loader.h"
#include "module/host.h"
#include "service/scanner.h"
#include "hardware/sysroot.h"
#include "network/keeper.h"
#include "api/api.h"
#include "http/http.h"
#include "service/allocations-private.h"
#include "service/attributes-private.h"
#include "service/inventory-private.h"
#include "service/event-log-private.h"
#include "service/handed-out.h"
#include "service/hand-over-private.h"
#include "service/stats-private.h"
#include "service/pod-watch.h"
#include "service/pods-private.h"
#include "service/pod-metadata-private.h"
#include "service/preparations-private.h"

/* Threads for scans, counters and namespace changes; see base/work.h for hanging jobs. */
#define WORKERS 4

RdmadServices *rdmad_services_new(GError **error)
{
	RdmadLoop *loop = rdmad_loop_new();
	RdmadServices *services;

	if (!loop) {
		rdmad_error_errno(error, errno, "cannot make an event loop");
		return NULL;
	}
	services = g_new0(RdmadServices, 1);
	services->started_us = rdmad_wall_us();
	services->loop = loop;
	services->stats = rdmad_stats_new();
	rdmad_loop_set_stats(services->loop, services->stats);
	services->workers = rdmad_workers_new(services->loop, WORKERS, error);
	if (!services->workers) {
		rdmad_services_free(services);
		return NULL;
	}
	services->event_log = rdmad_event_log_new(services->loop);
	services->attributes = rdmad_attributes_new(services->loop);
	services->preparations = rdmad_preparations_new(services->loop);
	services->pod_metadata = rdmad_pod_metadata_new(services->loop);
	services->hand_over = rdmad_hand_over_new(services->loop);
	services->inventory = rdmad_inventory_new(services->loop, services->event_log);
	services->modules = rdmad_modules_new(services);
	return services;
}

static gconstpointer services_load(const char *object, const char *symbol, gpointer data,
				   GError **error)
{
	const RdmadServices *services = data;

	return rdmad_module_load_part(services->module_dir, object, symbol, error);
}

static gboolean services_open_http(RdmadServices *services, const RdmadSettings *settings,
				   GError **error)
{
	services->http = rdmad_http_new(services->loop, &settings->http, error);
	if (!services->http)
		return FALSE;
	rdmad_http_set_helpers(services->http, services->workers, services_load, services);
	rdmad_http_set_hosts(services->http, settings->http_hosts);
	return TRUE;
}

/* A pod that has a device alone, and its CNI plugin, set the device's ports up and down. */
static void holder_changed(const RdmadAllocation *allocation, const RdmadServices *services)
{
	for (guint i = 0; rdmad_allocation_may_move(allocation) && allocation->devices[i]; i++)
		rdmad_inventory_holder_changed(services->inventory, allocation->devices[i]);
}

static void holder_granted(const RdmadAllocation *allocation, gpointer data)
{
	holder_changed(allocation, data);
}

static void holder_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	holder_changed(allocation, data);
}

static const RdmadAllocationOps holder_ops = { .granted = holder_granted, .ended = holder_ended };

static gboolean services_open_allocations(RdmadServices *services, gboolean dry, GError **error)
{
	g_autofree char *boot = NULL;

	services->state = rdmad_state_open(dry ? NULL : services->state_dir,
					   &services->state_set_aside, error);
	if (!services->state)
		return FALSE;
	rdmad_state_set_loop(services->state, services->loop);
	services->allocations =
		rdmad_allocations_new(services->loop, services->state, services->event_log, error);
	if (!services->allocations)
		return FALSE;
	services->holders =
		rdmad_allocations_watch(services->allocations, NULL, &holder_ops, services);
	services->away =
		rdmad_away_open(services->state, services->allocations, services->sysroot, error);
	if (!services->away)
		return FALSE;
	rdmad_inventory_set_away(services->inventory, services->away);
	services->handed_out = rdmad_handed_out_new(services->inventory, services->allocations,
						    services->event_log);
	boot = rdmad_sysroot_read(services->sysroot, "proc/sys/kernel/random/boot_id", NULL);
	rdmad_allocations_set_boot(services->allocations, boot);
	services->pods = rdmad_pods_new(services->loop, services->sysroot, services->allocations,
					services->kubelet_dir);
	services->pod_watch =
		rdmad_pod_watch_new(services->loop, services->workers, services->sysroot,
				    services->allocations, services->pods);
	return TRUE;
}

static gboolean services_open_hardware(RdmadServices *services, const char *sysroot, GError **error)
{
	services->sysroot = rdmad_sysroot_new(sysroot, error);
	if (!services->sysroot)
		return FALSE;
	services->hardware =
		rdmad_hardware_new(services->loop, services->workers, services->sysroot,
				   services->inventory, services->attributes, services->event_log);
	services->verbs = rdmad_hardware_verbs(services->hardware);
	return TRUE;
}

gboolean rdmad_services_open(RdmadServices *services, const RdmadSettings *settings,
			     const char *sysroot, gboolean dry, GError **error)
{
	services->run_dir = g_strdup(settings->run_dir);
	services->state_dir = g_strdup(settings->state_dir);
	services->kubelet_dir = g_strdup(settings->kubelet_dir);
	services->module_dir = g_strdup(settings->module_dir);
	services->config_path = g_strdup(settings->path);
	services->config_loaded_us = rdmad_wall_us();
	return services_open_http(services, settings, error) &&
	       services_open_hardware(services, sysroot, error) &&
	       services_open_allocations(services, dry, error);
}

gboolean rdmad_services_keep_control(RdmadServices *services, GError **error)
{
	g_autofree char *socket = g_build_filename(services->run_dir, "rdmad.sock", NULL);

	return rdmad_http_keep_control(services->http, socket, error);
}

gboolean rdmad_services_start(RdmadServices *services, GError **error)
{
	rdmad_daemon_stats_add(services);
	return rdmad_hardware_start(services->hardware, error) &&
	       rdmad_api_start(services, error) && rdmad_services_keep_control(services, error);
}

void rdmad_services_ask_kubelet(RdmadServices *services)
{
	g_autofree char *socket =
		g_build_filename(services->kubelet_dir, "pod-resources", "kubelet.sock", NULL);

	if (services->state_set_aside)
		rdmad_event_log_post(
			services->event_log, RDMAD_LOG_ERR, "state-damaged", NULL,
			"the database was damaged and set aside as %s; allocations are "
			"rebuilt from podresources",
			services->state_set_aside);
	if (services->state_set_aside || g_file_test(socket, G_FILE_TEST_EXISTS))
		rdmad_pods_hint(services->pods);
}

void rdmad_services_free(RdmadServices *services)
{
	if (!services)
		return;
	rdmad_modules_free(services->modules);
	rdmad_http_free(services->http);
	rdmad_api_free(services->api);
	rdmad_pods_free(services->pods);
	rdmad_pod_watch_free(services->pod_watch);
	rdmad_watch_free(services->holders);
	rdmad_handed_out_free(services->handed_out);
	if (services->inventory)
		rdmad_inventory_set_away(services->inventory, NULL);
	rdmad_away_close(services->away);
	rdmad_allocations_free(services->allocations);
	rdmad_state_close(services->state);
	rdmad_hardware_free(services->hardware);
	rdmad_inventory_free(services->inventory);
	rdmad_preparations_free(services->preparations);
	rdmad_pod_metadata_free(services->pod_metadata);
	rdmad_attributes_free(services->attributes);
	rdmad_event_log_free(services->event_log);
	rdmad_hand_over_free(services->hand_over);
	rdmad_workers_free(services->workers);
	rdmad_sysroot_free(services->sysroot); /* used by jobs until here */
	rdmad_loop_free(services->loop);
	rdmad_keeper_free(services->privileges.keeper);
	rdmad_stats_free(services->stats);
	g_free(services->run_dir);
	g_free(services->state_dir);
	g_free(services->kubelet_dir);
	g_free(services->module_dir);
	g_free(services->config_path);
	g_free(services->instance);
	g_strfreev(services->other_instances);
	g_free(services->config_error);
	g_free(services->run_dir_problem);
	g_free(services->state_set_aside);
	g_free(services);
}
