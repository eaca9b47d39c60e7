/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module device-plugin: offers RDMA devices to kubelet as extended resources
 *
 *	modules = {
 *	  device-plugin = {
 *	    registration = "auto";	# "auto": by plugins_registry where kubelet has it, else
 *					# "legacy", the Register call; or "registry"
 *	    socket_prefix = "rdmad";	# of the names of our sockets in kubelet's directories
 *	    health_delay = 1;		# time for which a recovered device must be well;
 *					# longer each time when it flaps
 *	    device_info_dir = "/var/run/k8s.cni.cncf.io/devinfo/dp";	# for Multus; "": no files
 *	    cdi_dir = "/var/run/cdi";	# for container runtimes
 *	    forget_delay = 60;		# time for which a removed device stays listed, as unhealthy
 *	    prestart = false;		# order the NICs in nccl.conf by the GPUs of the container
 *	    cri_socket = "auto";	# of the container runtime, for host_network_only and
 *					# rdma_limits; "auto": where containerd or CRI-O has it
 *	    defaults = { };		# defaults of every resource: any of the
 *					# keys below but name, mode, mode_from, count, shared_with
 *					# and selectors
 *	    resources = (
 *	      {
 *	        name = "rdma/hca";	# as pods request it; required
 *	        mode = "shared";	# or "exclusive": one slot a device, one pod at a time;
 *					# "shared-multi": for each slot an interface of its own
 *	        mode_from = "label:x";	# the attribute with the mode; `mode` until it is set
 *	        count = 1000;		# shared: how many slots ...
 *	        count_per = "pool";	# ... in all, spread over the devices, or for each "device"
 *	        multi_count = 16;	# shared-multi: how many slots for each device
 *	        expose = "device";	# what a container gets: the devices behind its slots, or
 *					# "pool", all of the resource
 *	        ids = "stable";		# "name": ids as "erdma_0/7", by the kernel's name
 *	        busy_pfs = false;	# true: also a physical function with virtual ones in use
 *	        numa = true;		# report NUMA nodes to kubelet's topology manager
 *	        shared_with = ( "rdma/other" );	# resources that may have the same devices
 *	        selectors = {		# which devices; each key a string or a list of them, with
 *	          names = "mlx5_*";	# `*` and `?`, and "!x" for all but x.  Every key that is
 *	          drivers = "mlx5_core";	# given must agree; no selectors take every device.
 *	          netdevs = ( "eth*", "!eth0" );	# any interface of the device
 *	          vendors = "15b3";	# PCI ids in hexadecimal
 *	          devices = "1021";
 *	          pci_addresses = "0000:3b:*";
 *	          guids = "0c42:a103:*";	# node GUID, with or without colons
 *	          numa_nodes = "0";
 *	          bonds = "bond0";
 *	          pf_names = "ens1f0#0-3,7";	# interface of the PF; behind the #, which virtual
 *	          root_devices = "0000:3b:00.0#0-3,7";	# functions (or subfunctions); its address
 *	          acpi_indexes = "101";
 *	          aux_types = "sf";
 *	          link_layers = "ethernet";	# or "infiniband", "unknown"; only ports of these
 *	          pkeys = "ffff";		# (and with these P_Keys) count for the health
 *	          port_states = "active";
 *	          exclude = { names = "mlx5_9"; };	# not these; a group like this, or a list
 *	        };			# a list of groups: what any of them takes
 *	        ignore_health = false;	# true: a present device with uverbs is healthy
 *	        umad = false;		# also give umadN, issmN, ucmN (for subnet managers and
 *	        issm = false;		# other tools that send management packets)
 *	        ucm = false;
 *	        permissions = "rw";	# of the device files in the container
 *	        cdi = "off";		# "on": by names that the container runtime resolves
 *	        nccl_hca = false;	# true: NCCL_IB_HCA in the container's environment
 *	        smcr_pnet = false;	# true: SMCR_PNET there, for SMC-R
 *	        host_network_only = false;	# true: other containers are refused when they start
 *	        rdma_limits = {		# of each pod on each of its devices; none by default
 *	          hca_handle = 100;	# how often it may be opened
 *	          hca_object = 100000;	# queue pairs, completion queues, memory regions ...
 *	        };
 *	      } );
 *	  };
 *	};
 *
 * Without `resources` there is one, rdma/hca: shared, 1000 slots, over every device with an
 * Ethernet or InfiniBand port.
 *
 * answer.h has the response for a container's slots, choice.h the choice of slots, prestart.h the
 * start of a container.
 *
 * A device is in one resource, unless `shared_with` of one names the other and both
 * are shared; the first in the file has it.
 */
#include <rdmad/allocations.h>
#include <rdmad/clock.h>
#include <rdmad/inventory.h>
#include <rdmad/event-log.h>
#include <rdmad/hand-over.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>
#include <rdmad/sysroot.h>
#include <jansson.h>

#include "selector/assignment.h"
#include "explain.h"
#include "mode-source.h"
#include "allocate/device-info.h"
#include "allocate/delivery.h"
#include "kubelet/registration.h"
#include "plugin-stats.h"
#include "resource.h"

typedef struct {
	RdmadModule *self;
	PluginSettings *settings;
	ResourceShared shared;
	GPtrArray *resources; /* of Resource, in the order of the settings */
	GHashTable *posted;   /* messages that were logged, each only once */
	ModeSource *modes;
	Explain *explain;
	PluginStats *stats;
	RdmadWatch *inventory_watch, *allocations_watch;
	RdmadEvent *refresh; /* timer: a change to handle, or a health delay */
	guint draining;	     /* number of resources with pending calls */
} Plugin;

/* ---- refresh ---- */

static void refresh_within(Plugin *plugin, gint64 wait_us)
{
	rdmad_event_arm_within(plugin->refresh, (guint)((wait_us + 999) / 1000));
}

static void post_once(Plugin *plugin, const char *kind, const char *message)
{
	if (g_hash_table_add(plugin->posted, g_strdup(message)))
		rdmad_event_log_post(rdmad_module_event_log(plugin->self), RDMAD_LOG_WARNING, kind,
				     NULL, "%s", message);
}

static void post_conflicts(Plugin *plugin, const GPtrArray *conflicts)
{
	for (guint i = 0; i < conflicts->len; i++)
		post_once(plugin, "resource-conflict", conflicts->pdata[i]);
}

/* Call before kubelet gets the list of devices. */
static void publish_names(Plugin *plugin, const Assignment *assignment)
{
	Delivery *delivery = plugin->shared.delivery;
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < plugin->settings->resources->len; i++)
		delivery_offer(delivery, plugin->settings->resources->pdata[i],
			       assignment->members->pdata[i]);
	if (!delivery_publish(delivery, &error))
		post_once(plugin, "cdi-failed", error->message);
}

static void refresh(gpointer data)
{
	Plugin *plugin = data;
	g_autoptr(GPtrArray) devices =
		rdmad_inventory_list_everywhere(rdmad_module_inventory(plugin->self));
	g_autoptr(Assignment) assignment = assignment_new(plugin->settings->resources, devices);
	gint64 wait_us = 0;

	publish_names(plugin, assignment);
	for (guint i = 0; i < plugin->resources->len; i++) {
		const gint64 wanted =
			resource_update(plugin->resources->pdata[i], assignment->members->pdata[i],
					plugin->settings);

		if (wanted && (!wait_us || wanted < wait_us))
			wait_us = wanted;
	}
	for (guint i = 0; i < plugin->resources->len; i++)
		resource_follow_options(plugin->resources->pdata[i]);
	post_conflicts(plugin, assignment->conflicts);
	if (wait_us)
		refresh_within(plugin, wait_us);
}

static void kubelet_changed(gpointer data)
{
	Plugin *plugin = data;

	for (guint i = 0; i < plugin->resources->len; i++)
		resource_kubelet_changed(plugin->resources->pdata[i]);
}

/* ---- changes ---- */

static void inventory_settled(gpointer data)
{
	Plugin *plugin = data;

	gpu_ids_read(plugin->shared.gpu_ids);
	refresh(plugin);
	kubelet_changed(plugin);
}

static void allocation_granted(const RdmadAllocation *allocation, gpointer data)
{
	Plugin *plugin = data;

	for (guint i = 0; i < plugin->resources->len; i++)
		if (resource_is_outdated_by(plugin->resources->pdata[i], allocation))
			refresh_within(plugin, 0);
}

static void allocation_changed(const RdmadAllocation *before, const RdmadAllocation *now,
			       gpointer data)
{
	allocation_granted(now, data);
}

static void allocation_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	refresh_within(data, 0);
}

static void modes_changed(gpointer data)
{
	refresh_within(data, 0);
}

static const RdmadInventoryOps INVENTORY_OPS = { .settled = inventory_settled };
static const RdmadAllocationOps ALLOCATION_OPS = { .granted = allocation_granted,
						   .changed = allocation_changed,
						   .ended = allocation_ended };

/* ---- life cycle ---- */

/* On a recorded machine, the default directories of Multus and the runtime are not used. */
static DeliveryDirectories delivery_directories(const Plugin *plugin)
{
	const gboolean live = rdmad_sysroot_is_live(rdmad_module_sysroot(plugin->self));
	DeliveryDirectories directories = { plugin->settings->device_info_dir,
					    plugin->settings->cdi_dir };

	if (!directories.device_info_dir && live)
		directories.device_info_dir = DEVICE_INFO_DIR;
	if (!directories.cdi_dir && live)
		directories.cdi_dir = CDI_DIR;
	return directories;
}

static gpointer plugin_create(RdmadModule *self, const RdmadConfigNode *config, GError **error)
{
	g_autoptr(PluginSettings) settings = plugin_settings_parse(config, error);
	DeliveryDirectories directories;
	Plugin *plugin;

	if (!settings)
		return NULL;
	plugin = g_new0(Plugin, 1);
	plugin->self = self;
	plugin->shared.self = self;
	plugin->settings = g_steal_pointer(&settings);
	plugin->resources = g_ptr_array_new_with_free_func((GDestroyNotify)resource_free);
	plugin->posted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	directories = delivery_directories(plugin);
	plugin->shared.delivery = delivery_new(rdmad_module_run_dir(self), rdmad_module_name(self),
					       rdmad_module_allocations(self), &directories);
	plugin->shared.pre_start = pre_start_new(self, plugin->settings);
	return plugin;
}

static Resource *take_resource(GPtrArray *resources, const char *name)
{
	for (guint i = 0; i < resources->len; i++)
		if (g_str_equal(resource_name(resources->pdata[i]), name))
			return g_ptr_array_steal_index(resources, i);
	return NULL;
}

/* A resource that keeps its name keeps its socket and its stream, and gets the new settings. */
static void renew_resources(Plugin *plugin)
{
	g_autoptr(GPtrArray) old = plugin->resources;
	const GPtrArray *wanted = plugin->settings->resources;

	registration_close_removed(plugin->self, plugin->shared.kubelet, wanted);
	plugin->resources = g_ptr_array_new_with_free_func((GDestroyNotify)resource_free);
	for (guint i = 0; i < wanted->len; i++) {
		ResourceSettings *settings = wanted->pdata[i];
		Resource *resource = take_resource(old, settings->name);

		if (resource)
			resource_configure(resource, settings);
		else
			resource = resource_new(&plugin->shared, settings);
		g_ptr_array_add(plugin->resources, resource);
	}
}

/* Registration begins after the first scan, because the list would be empty before. */
static gboolean plugin_start(gpointer state, GError **error)
{
	Plugin *plugin = state;
	RdmadModule *self = plugin->self;

	plugin->explain = explain_new(self, &plugin->settings, &plugin->resources, error);
	if (!plugin->explain)
		return FALSE;
	plugin->stats = plugin_stats_new(self, &plugin->resources, error);
	if (!plugin->stats)
		return FALSE;
	plugin->shared.allocate_durations = plugin_stats_allocate(plugin->stats);
	plugin->refresh = rdmad_loop_add_timer(rdmad_module_loop(self), self, refresh, plugin);
	plugin->shared.gpu_ids = gpu_ids_new(self);
	plugin->shared.allocate_queue =
		allocate_queue_new(self, plugin->shared.delivery, resource_answer);
	plugin->shared.kubelet = kubelet_new(self, plugin->settings, kubelet_changed, plugin);
	delivery_start(plugin->shared.delivery, self);
	pre_start_begin(plugin->shared.pre_start, plugin->shared.gpu_ids, plugin->shared.delivery);
	plugin->modes = mode_source_new(self, modes_changed, plugin);
	mode_source_follow(plugin->modes, plugin->settings->resources, NULL);
	renew_resources(plugin);
	plugin->allocations_watch = rdmad_allocations_watch(rdmad_module_allocations(self), self,
							    &ALLOCATION_OPS, plugin);
	plugin->inventory_watch =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &INVENTORY_OPS, plugin);
	return TRUE;
}

static gboolean plugin_reload(gpointer state, const RdmadConfigNode *config, GError **error)
{
	Plugin *plugin = state;
	DeliveryDirectories directories;
	g_autoptr(PluginSettings) before = NULL;
	PluginSettings *settings = plugin_settings_parse(config, error);

	if (!settings)
		return FALSE;
	before = plugin->settings;
	plugin->settings = settings;
	kubelet_configure(plugin->shared.kubelet, settings);
	directories = delivery_directories(plugin);
	delivery_configure(plugin->shared.delivery, &directories);
	pre_start_configure(plugin->shared.pre_start, settings);
	g_hash_table_remove_all(plugin->posted);
	mode_source_follow(plugin->modes, settings->resources, before->resources);
	renew_resources(plugin);
	refresh(plugin);
	if (before->registration != settings->registration)
		for (guint i = 0; i < plugin->resources->len; i++)
			resource_restart(plugin->resources->pdata[i]);
	kubelet_changed(plugin);
	/* Until the next turn, other modules start or stop. */
	refresh_within(plugin, 0);
	return TRUE;
}

static void resource_drained(gpointer data)
{
	Plugin *plugin = data;

	if (--plugin->draining == 0)
		rdmad_module_drained(plugin->self);
}

static void plugin_drain(gpointer state)
{
	Plugin *plugin = state;

	/* Kubelet's calls are answered until its connections are handed over. */
	if (rdmad_hand_over_under_way(rdmad_module_hand_over(plugin->self))) {
		rdmad_module_drained(plugin->self);
		return;
	}
	plugin->draining = plugin->resources->len;
	for (guint i = 0; i < plugin->resources->len; i++)
		resource_drain(plugin->resources->pdata[i], resource_drained, plugin);
}

static void plugin_stop(gpointer state)
{
	Plugin *plugin = state;

	delivery_stop(plugin->shared.delivery);
	g_clear_pointer(&plugin->inventory_watch, rdmad_watch_free);
	g_clear_pointer(&plugin->allocations_watch, rdmad_watch_free);
	pre_start_stop(plugin->shared.pre_start);
	g_ptr_array_set_size(plugin->resources, 0);
	g_clear_pointer(&plugin->shared.allocate_queue, allocate_queue_free);
	g_clear_pointer(&plugin->modes, mode_source_free);
	g_clear_pointer(&plugin->explain, explain_free);
	g_clear_pointer(&plugin->stats, plugin_stats_free);
	g_clear_pointer(&plugin->shared.kubelet, kubelet_free);
	g_clear_pointer(&plugin->shared.gpu_ids, gpu_ids_free);
	g_clear_pointer(&plugin->refresh, rdmad_event_free);
}

static void plugin_destroy(gpointer state)
{
	Plugin *plugin = state;

	g_clear_pointer(&plugin->explain, explain_free); /* left by a failed start */
	g_clear_pointer(&plugin->stats, plugin_stats_free);
	g_ptr_array_unref(plugin->resources);
	g_hash_table_unref(plugin->posted);
	delivery_free(plugin->shared.delivery);
	pre_start_free(plugin->shared.pre_start);
	plugin_settings_free(plugin->settings);
	g_free(plugin);
}

/* ---- status and doctor ---- */

static json_t *plugin_status(gpointer state)
{
	Plugin *plugin = state;
	json_t *resources = json_array();
	RdmadSocketFile identity;

	for (guint i = 0; i < plugin->resources->len; i++)
		json_array_append_new(resources, resource_status(plugin->resources->pdata[i]));
	return json_pack("{s:o, s:{s:s, s:b}}", "resources", resources, "kubelet", "dir",
			 rdmad_module_kubelet_dir(plugin->self), "socket",
			 plugin->shared.kubelet &&
				 kubelet_identify(plugin->shared.kubelet, &identity));
}

static gboolean plugin_ready(gpointer state, char **why)
{
	Plugin *plugin = state;
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < plugin->resources->len; i++) {
		g_autofree char *problem = resource_problem(plugin->resources->pdata[i]);

		if (problem)
			g_string_append_printf(text, "%s%s", text->len ? "; " : "", problem);
	}
	if (!text->len)
		return TRUE;
	*why = g_string_free(g_steal_pointer(&text), FALSE);
	return FALSE;
}

static void plugin_doctor(gpointer state, json_t *findings)
{
	Plugin *plugin = state;

	for (guint i = 0; i < plugin->resources->len; i++)
		resource_doctor(plugin->resources->pdata[i], findings);
	delivery_doctor(plugin->shared.delivery, findings);
}

/* ---- --check ---- */

typedef struct {
	const char *resource;
	RdmadCheckFunc warn;
	gpointer data;
} UnusedPatterns;

static void warn_unused(const char *key, const char *pattern, gpointer data)
{
	const UnusedPatterns *unused = data;
	g_autofree char *text =
		g_strdup_printf("%s: selectors.%s: \"%s\" matches no device of this machine",
				unused->resource, key, pattern);

	unused->warn(text, unused->data);
}

static void warn_empty(const char *resource, RdmadCheckFunc warn, gpointer data)
{
	g_autofree char *text =
		g_strdup_printf("%s: its selectors match no device of this machine", resource);

	warn(text, data);
}

static void plugin_check(gpointer state, RdmadCheckFunc warn, gpointer data)
{
	const Plugin *plugin = state;
	g_autoptr(GPtrArray) devices =
		rdmad_inventory_list_everywhere(rdmad_module_inventory(plugin->self));
	g_autoptr(Assignment) assignment = assignment_new(plugin->settings->resources, devices);

	for (guint i = 0; i < plugin->settings->resources->len; i++) {
		const ResourceSettings *resource = plugin->settings->resources->pdata[i];
		const GArray *members = assignment->members->pdata[i];
		UnusedPatterns unused = { resource->name, warn, data };

		selector_foreach_unused(&resource->selector, devices, warn_unused, &unused);
		if (members->len == 0)
			warn_empty(resource->name, warn, data);
	}
	for (guint i = 0; i < assignment->conflicts->len; i++)
		warn(assignment->conflicts->pdata[i], data);
}

/* A device that is unhealthy in one of its resources is unhealthy. */
static gboolean plugin_device_health(gpointer state, const RdmadDevice *dev, const char **problem,
				     const char **rest)
{
	const Plugin *plugin = state;
	gboolean offered = FALSE;

	*problem = *rest = NULL;
	for (guint i = 0; i < plugin->resources->len && !*problem; i++)
		offered |=
			resource_device_health(plugin->resources->pdata[i], dev->id, problem, rest);
	return offered;
}

RDMAD_MODULE_DEFINE("device-plugin", .description = "Offers RDMA devices to kubelet",
		    .create = plugin_create, .start = plugin_start, .reload = plugin_reload,
		    .drain = plugin_drain, .stop = plugin_stop, .destroy = plugin_destroy,
		    .ready = plugin_ready, .status = plugin_status, .doctor = plugin_doctor,
		    .device_health = plugin_device_health, .check = plugin_check,
		    .commands = explain_commands);
