/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/prestart.h"

#include <errno.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/allocations.h>
#include <rdmad/doctor.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/event-log.h>
#include <rdmad/loop.h>
#include <rdmad/pods.h>
#include <rdmad/preparations.h>
#include <string.h>
#include <sys/stat.h>

#include "allocate/allocation-directory.h"
#include "prestart/cri.h"
#include "deviceplugin.pb-c.h"
#include "prestart/rdma-limits.h"
#include "prestart/nic-order.h"
#include "kubelet/unpack.h"

#define DEADLINE_MS 9000
#define STARTS_MAX  1024u

struct PreStart {
	RdmadModule *self;
	gboolean prestart;
	char *cri_socket;
	const GpuIds *gpu_ids;
	const Delivery *delivery;
	GPtrArray *starts;	  /* of Start, the oldest first */
	GHashTable *unlimited;	  /* id of an allocation -> why its pod has no limits */
	guint64 queries, answers; /* of podresources */
};

/* One PreStartContainer call. */
typedef struct {
	PreStart *owner;
	ResourceSettings *settings;
	RdmadGrpcCall *call;
	char *slot;
	char *pod_namespace, *pod_name, *container; /* NULL until podresources lists it */
	guint64 pods_query; /* number of the query of podresources; 0: answered */
	RdmadEvent *deadline;
	RdmadPreparation *preparation;
	CriQuery *query;
	CriSandbox sandbox; /* while the limits are written */
	gboolean is_limited;
	RdmadJob *job;
} Start;

static void start_free(gpointer data)
{
	Start *start = data;

	rdmad_preparation_cancel(start->preparation);
	cri_query_cancel(start->query);
	rdmad_job_cancel(start->job);
	cri_sandbox_clear(&start->sandbox);
	rdmad_event_free(start->deadline);
	rdmad_grpc_call_unref(start->call);
	resource_settings_unref(start->settings);
	g_free(start->slot);
	g_free(start->pod_namespace);
	g_free(start->pod_name);
	g_free(start->container);
	g_free(start);
}

/* ---- reply ---- */

/* Frees `start`. */
static void start_allow(Start *start)
{
	rdmad_grpc_call_reply(start->call, (const guint8 *)"", 0);
	g_ptr_array_remove(start->owner->starts, start);
}

/* Returns "namespace/pod", or NULL if the pod is unknown. */
static char *start_pod(const Start *start)
{
	return start->pod_name ? g_strdup_printf("%s/%s", start->pod_namespace, start->pod_name)
			       : NULL;
}

static const RdmadAllocation *start_allocation(const Start *start)
{
	return rdmad_allocations_by_slot(rdmad_module_allocations(start->owner->self),
					 start->settings->name, start->slot);
}

static gboolean has_limits(const ResourceSettings *settings)
{
	return settings->limits.hca_handle || settings->limits.hca_object;
}

static gboolean allocation_has_ended(gpointer id, gpointer why, gpointer data)
{
	const PreStart *pre_start = data;

	return !rdmad_allocations_lookup(rdmad_module_allocations(pre_start->self), id);
}

/* `why` NULL: the pod has its limits. */
static void start_note_limits(const Start *start, const char *why)
{
	PreStart *pre_start = start->owner;
	const RdmadAllocation *allocation = start_allocation(start);

	g_hash_table_foreach_remove(pre_start->unlimited, allocation_has_ended, pre_start);
	if (allocation && why)
		g_hash_table_replace(pre_start->unlimited, g_strdup(allocation->id), g_strdup(why));
	else if (allocation)
		g_hash_table_remove(pre_start->unlimited, allocation->id);
}

static void start_warn(const Start *start, const char *kind, const char *what, const char *why)
{
	g_autofree char *pod = start_pod(start);
	const RdmadLogFields about = { .resource = start->settings->name, .pod = pod };

	rdmad_event_log_post(rdmad_module_event_log(start->owner->self), RDMAD_LOG_WARNING, kind,
			     &about, "%s of %s starts, %s: %s",
			     start->container ? start->container : "a container",
			     pod ? pod : "an unknown pod", what, why);
	if (has_limits(start->settings) && !start->is_limited)
		start_note_limits(start, why);
}

static void start_refuse(Start *start)
{
	const char *name = start->settings->name;
	g_autofree char *pod = start_pod(start);
	const RdmadLogFields about = { .resource = name, .pod = pod };

	rdmad_event_log_post(rdmad_module_event_log(start->owner->self), RDMAD_LOG_WARNING,
			     "start-refused", &about,
			     "%s of %s may not start: it is not in the host's network, and "
			     "host_network_only is set for %s",
			     start->container, pod, name);
	rdmad_grpc_call_fail(start->call, RDMAD_GRPC_FAILED_PRECONDITION,
			     "%s is for pods with hostNetwork: true alone (host_network_only = "
			     "true in rdmad's configuration), and pod %s is not one",
			     name, pod);
	g_ptr_array_remove(start->owner->starts, start);
}

/* Fails the call because a preparer forbids the start. */
static void start_fail(Start *start, const char *why)
{
	g_autofree char *pod = start_pod(start);
	const RdmadLogFields about = { .resource = start->settings->name, .pod = pod };

	rdmad_event_log_post(rdmad_module_event_log(start->owner->self), RDMAD_LOG_WARNING,
			     "start-refused", &about, "%s of %s may not start: %s",
			     start->container, pod, why);
	rdmad_grpc_call_fail(start->call, RDMAD_GRPC_FAILED_PRECONDITION, "pod %s: %s", pod, why);
	g_ptr_array_remove(start->owner->starts, start);
}

static void start_timed_out(gpointer data)
{
	Start *start = data;
	const char *refusal =
		start->preparation ? rdmad_preparation_refusal(start->preparation) : NULL;

	if (refusal) {
		g_autofree char *why = g_strdup(refusal);

		start_fail(start, why);
		return;
	}
	start_warn(start, "start-unchecked", "not all is done for it",
		   start->preparation ? "its files are not written yet"
				      : "kubelet or the container runtime took too long to "
					"identify its pod");
	start_allow(start);
}

/* ---- the order of the NICs ---- */

static gboolean is_of_container(const Start *start, const RdmadPodDevices *devices)
{
	return g_str_equal(devices->pod_namespace, start->pod_namespace) &&
	       g_str_equal(devices->pod_name, start->pod_name) &&
	       g_str_equal(devices->container, start->container);
}

static GPtrArray *container_gpus(const Start *start)
{
	RdmadPods *pods = rdmad_module_pods(start->owner->self);
	GPtrArray *gpus = g_ptr_array_new();

	for (guint i = 0; i < rdmad_pods_count(pods); i++) {
		const RdmadPodDevices *devices = rdmad_pods_nth(pods, i);

		for (char **id = devices->ids; is_of_container(start, devices) && *id; id++) {
			const RdmadGpu *gpu = gpu_ids_find(start->owner->gpu_ids, *id);

			if (gpu && !g_ptr_array_find(gpus, gpu, NULL))
				g_ptr_array_add(gpus, (gpointer)gpu);
		}
	}
	return gpus;
}

typedef struct {
	const Start *start;
	GPtrArray *devices;
} Collection;

/* A container may have allocations of several resources and uses the devices of all. */
static void collect_devices(const RdmadAllocation *allocation, gpointer data)
{
	Collection *collection = data;
	const Start *start = collection->start;
	RdmadInventory *inventory = rdmad_module_inventory(start->owner->self);

	if (g_strcmp0(allocation->pod_namespace, start->pod_namespace) != 0 ||
	    g_strcmp0(allocation->pod_name, start->pod_name) != 0 ||
	    g_strcmp0(allocation->container, start->container) != 0)
		return;
	for (guint i = 0; allocation->devices[i]; i++) {
		const RdmadDevice *dev = rdmad_inventory_lookup(inventory, allocation->devices[i]);

		if (dev && !g_ptr_array_find(collection->devices, dev, NULL))
			g_ptr_array_add(collection->devices, (gpointer)dev);
	}
}

/* If module nccl has a plan, it writes nccl.conf itself: the plan has the same devices by port,
 * and more. */
static gboolean nccl_has_planned(const Start *start, const RdmadAllocation *allocation)
{
	const char *run_dir = delivery_run_dir(start->owner->delivery);

	return allocation &&
	       rdmad_allocation_dir_has(run_dir, allocation->id, ALLOCATION_NCCL_PLAN, NULL);
}

static void start_order_nics(Start *start)
{
	g_autoptr(GPtrArray) gpus = container_gpus(start);
	g_autoptr(GPtrArray) devices = g_ptr_array_new();
	Collection collection = { start, devices };
	const RdmadAllocation *allocation = start_allocation(start);
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	if (nccl_has_planned(start, allocation))
		return;
	rdmad_allocations_foreach(rdmad_module_allocations(start->owner->self), collect_devices,
				  &collection);
	nic_order_sort(devices, gpus);
	text = nic_order_nccl_conf(devices, gpus);
	if (allocation &&
	    !rdmad_allocation_dir_write(delivery_run_dir(start->owner->delivery), allocation->id,
					ALLOCATION_NCCL_CONF, text, &error))
		start_warn(start, "start-unchecked", "without the order of its NICs",
			   error->message);
}

/* ---- preparations of other modules ---- */

static void start_prepared(const char *refusal, gpointer data)
{
	Start *start = data;

	start->preparation = NULL;
	if (refusal) {
		start_fail(start, refusal);
		return;
	}
	if (start->owner->prestart)
		start_order_nics(start);
	start_allow(start);
}

static gboolean sandbox_is_needed(const Start *start)
{
	return rdmad_preparations_want_sandbox(rdmad_module_preparations(start->owner->self));
}

/* Runs after all other checks that may refuse the start. */
static void start_prepare(Start *start, const CriSandbox *reported)
{
	const RdmadSandbox sandbox = {
		.pod_uid = reported ? reported->pod_uid : NULL,
		.is_host_network = reported && reported->network == CRI_NETWORK_HOST,
		.netns = reported ? reported->netns : NULL,
		.annotations = reported ? reported->annotations : NULL,
	};
	RdmadModule *self = start->owner->self;
	const RdmadAllocation *allocation = start_allocation(start);

	if (allocation)
		start->preparation =
			rdmad_preparations_begin(rdmad_module_preparations(self), self, allocation,
						 reported ? &sandbox : NULL, start_prepared, start);
	else
		start_prepared(NULL, start);
}

/* ---- responses of the runtime ---- */

static gboolean needs_runtime(const ResourceSettings *settings)
{
	return settings->host_network_only || has_limits(settings);
}

static void limits_done(gpointer result, const GError *error, gpointer data)
{
	Start *start = data;

	start->job = NULL;
	start->is_limited = !error;
	if (error)
		start_warn(start, "rdma-limits", "without its RDMA limits", error->message);
	else
		start_note_limits(start, NULL);
	start_prepare(start, &start->sandbox);
}

/* Returns the names of the present devices of the allocation. */
static char **allocation_device_names(const Start *start)
{
	RdmadInventory *inventory = rdmad_module_inventory(start->owner->self);
	const RdmadAllocation *allocation = start_allocation(start);
	GPtrArray *names = g_ptr_array_new();

	for (guint i = 0; allocation && allocation->devices[i]; i++) {
		const RdmadDevice *dev = rdmad_inventory_lookup(inventory, allocation->devices[i]);

		if (dev && !g_ptr_array_find_with_equal_func(names, dev->name, g_str_equal, NULL))
			g_ptr_array_add(names, g_strdup(dev->name));
	}
	g_ptr_array_add(names, NULL);
	return (char **)g_ptr_array_free(names, FALSE);
}

static void start_limit(Start *start)
{
	static const RdmadJobClass klass = {
		.name = "rdma-limits",
		.run = limit_job_run,
		.done = limits_done,
		.free_input = limit_job_input_free,
	};
	RdmadModule *self = start->owner->self;
	g_auto(GStrv) names = allocation_device_names(start);
	gpointer input =
		limit_job_input(self, start->sandbox.pod_uid, names, &start->settings->limits);
	g_autoptr(GError) error = NULL;

	start->job = rdmad_work_submit(rdmad_module_workers(self), self, &klass, input, 0, start,
				       &error);
	if (!start->job)
		limits_done(NULL, error, start);
}

static void runtime_answered(CriSandbox *sandbox, const GError *error, gpointer data)
{
	Start *start = data;

	start->query = NULL;
	if (!sandbox) {
		start_warn(start, "start-unchecked", "its pod could not be checked",
			   error->message);
		start_prepare(start, NULL);
		return;
	}
	if (start->settings->host_network_only && sandbox->network == CRI_NETWORK_POD) {
		start_refuse(start);
		return;
	}
	if (start->settings->host_network_only && sandbox->network == CRI_NETWORK_UNKNOWN)
		start_warn(start, "start-unchecked", "host_network_only could not be checked",
			   "the container runtime does not report its network");
	start->sandbox = *sandbox;
	*sandbox = (CriSandbox){ 0 };
	if (has_limits(start->settings))
		start_limit(start);
	else
		start_prepare(start, &start->sandbox);
}

static void start_query_runtime(Start *start)
{
	g_autofree char *socket = cri_socket(start->owner->cri_socket);

	if (!socket) {
		start_warn(start, "start-unchecked", "its pod could not be checked",
			   "no socket of a container runtime (cri_socket)");
		start_prepare(start, NULL);
		return;
	}
	start->query = cri_query(start->owner->self, socket, start->pod_namespace, start->pod_name,
				 runtime_answered, start);
}

/* ---- responses of podresources ---- */

static void start_pods_listed(Start *start, const GError *error)
{
	const RdmadPodDevices *holder =
		error ? NULL
		      : rdmad_pods_holder(rdmad_module_pods(start->owner->self),
					  start->settings->name, start->slot);

	start->pods_query = 0;
	if (!holder) {
		start_warn(start, "start-unchecked", "its pod is unknown",
			   error ? error->message : "kubelet does not list its devices");
		start_allow(start);
		return;
	}
	start->pod_namespace = g_strdup(holder->pod_namespace);
	start->pod_name = g_strdup(holder->pod_name);
	start->container = g_strdup(holder->container);
	if (needs_runtime(start->settings) || sandbox_is_needed(start))
		start_query_runtime(start);
	else
		start_prepare(start, NULL);
}

/* Called once for each query, in order; the start of a query may have ended already. */
static void pods_listed(const GError *error, gpointer data)
{
	PreStart *pre_start = data;

	pre_start->answers++;
	for (guint i = 0; i < pre_start->starts->len; i++) {
		Start *start = pre_start->starts->pdata[i];

		if (start->pods_query != pre_start->answers)
			continue;
		start_pods_listed(start, error);
		return;
	}
}

/* ---- the call ---- */

static void start_begin(PreStart *pre_start, ResourceSettings *resource, RdmadGrpcCall *call,
			const char *slot)
{
	RdmadModule *self = pre_start->self;
	Start *start = g_new0(Start, 1);

	start->owner = pre_start;
	start->settings = resource_settings_ref(resource);
	start->call = rdmad_grpc_call_ref(call);
	start->slot = g_strdup(slot);
	start->pods_query = ++pre_start->queries;
	start->deadline =
		rdmad_loop_add_timer(rdmad_module_loop(self), self, start_timed_out, start);
	rdmad_event_arm(start->deadline, DEADLINE_MS);
	g_ptr_array_add(pre_start->starts, start);
	rdmad_pods_refresh(rdmad_module_pods(self), self, pods_listed, pre_start);
}

static void request_log(const ResourceSettings *resource,
			const V1beta1__PreStartContainerRequest *request)
{
	const RdmadLogFields about = { .resource = resource->name };

	rdmad_log_full(RDMAD_LOG_DEBUG, &about, "%s: kubelet calls PreStartContainer for %zu slots",
		       resource->name, request->n_devices_ids);
}

void pre_start_serve(PreStart *pre_start, ResourceSettings *resource, RdmadGrpcCall *call,
		     const guint8 *message, gsize size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Unpacked) unpacked =
		unpack(&v1beta1__pre_start_container_request__descriptor, message, size, &error);
	const V1beta1__PreStartContainerRequest *request =
		unpacked ? unpacked_message(unpacked) : NULL;

	if (request)
		request_log(resource, request);
	if (!request)
		rdmad_grpc_call_fail(call, RDMAD_GRPC_INVALID_ARGUMENT, "%s", error->message);
	else if (!pre_start_wanted(pre_start, resource) || !request->n_devices_ids ||
		 pre_start->starts->len >= STARTS_MAX)
		rdmad_grpc_call_reply(call, (const guint8 *)"", 0);
	else
		start_begin(pre_start, resource, call, request->devices_ids[0]);
}

gboolean pre_start_wanted(const PreStart *pre_start, const ResourceSettings *resource)
{
	return pre_start->prestart || needs_runtime(resource) ||
	       rdmad_preparations_wanted(rdmad_module_preparations(pre_start->self));
}

/* ---- doctor ---- */

static void unlimited_doctor(const PreStart *pre_start, const ResourceSettings *resource,
			     json_t *findings)
{
	RdmadAllocations *allocations = rdmad_module_allocations(pre_start->self);
	GHashTableIter iter;
	gpointer id, why;

	g_hash_table_iter_init(&iter, pre_start->unlimited);
	while (g_hash_table_iter_next(&iter, &id, &why)) {
		const RdmadAllocation *allocation = rdmad_allocations_lookup(allocations, id);
		g_autofree char *text = NULL;

		if (!allocation || !g_str_equal(allocation->resource, resource->name))
			continue;
		text = g_strdup_printf("%s/%s runs without its RDMA limits: %s",
				       allocation->pod_namespace ?: "an unknown pod",
				       allocation->pod_name ?: allocation->id, (char *)why);
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, resource->name, text,
				 "the limits are set when a container starts: mend this, and "
				 "restart the pod");
	}
}

void pre_start_doctor(const PreStart *pre_start, const ResourceSettings *resource, json_t *findings)
{
	g_autofree char *socket = cri_socket(pre_start->cri_socket);
	g_autofree char *text = NULL;
	struct stat info;

	unlimited_doctor(pre_start, resource, findings);
	if (!needs_runtime(resource))
		return;
	if (!socket)
		text = g_strdup("no socket of a container runtime");
	else if (stat(socket, &info) < 0)
		text = g_strdup_printf("the container runtime's socket %s: %s", socket,
				       g_strerror(errno));
	if (!text)
		return;
	rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, resource->name, text,
			 "host_network_only is not checked and rdma_limits are not set: set "
			 "cri_socket (devicePlugin.criSocket of the chart)");
}

/* ---- life cycle ---- */

PreStart *pre_start_new(RdmadModule *self, const PluginSettings *settings)
{
	PreStart *pre_start = g_new0(PreStart, 1);

	pre_start->self = self;
	pre_start->starts = g_ptr_array_new_with_free_func(start_free);
	pre_start->unlimited = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	pre_start_configure(pre_start, settings);
	return pre_start;
}

void pre_start_configure(PreStart *pre_start, const PluginSettings *settings)
{
	pre_start->prestart = settings->prestart;
	g_free(pre_start->cri_socket);
	pre_start->cri_socket = g_strdup(settings->cri_socket);
}

void pre_start_begin(PreStart *pre_start, const GpuIds *gpu_ids, const Delivery *delivery)
{
	pre_start->gpu_ids = gpu_ids;
	pre_start->delivery = delivery;
}

void pre_start_stop(PreStart *pre_start)
{
	rdmad_pods_cancel(rdmad_module_pods(pre_start->self), pods_listed, pre_start);
	while (pre_start->starts->len)
		start_allow(pre_start->starts->pdata[pre_start->starts->len - 1]);
	pre_start->gpu_ids = NULL;
}

void pre_start_free(PreStart *pre_start)
{
	g_ptr_array_unref(pre_start->starts);
	g_hash_table_unref(pre_start->unlimited);
	g_free(pre_start->cri_socket);
	g_free(pre_start);
}
