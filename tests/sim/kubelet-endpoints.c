/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins that are registered: resources, connections, lists of devices. */

#include "clock.h"
#include "containers.h"
#include "deviceplugin.pb-c.h"
#include "judge.h"
#include "kubelet.h"

#define OPTIONS_MS	10000
#define DEVICES_MESSAGE (1u << 20)
/* Five minutes, and the time to the next report of the node's state. */
#define STOP_GRACE_US (310 * SIM_S)

typedef struct {
	char *name;
	Endpoint *endpoint; /* of the last registration */
	gboolean pre_start; /* its plugin wants PreStartContainer, as it said last */
	GPtrArray *slots;   /* of ListedSlot */
} Resource;

/* A connection to a plugin; freed one turn after its end. */
struct Endpoint {
	Resource *resource;
	char *path;
	RdmadGrpcChannel *channel;
	RdmadEvent *dial, *notice;  /* timers */
	RdmadGrpcCall *registering; /* Register, or NULL */
	gboolean is_answered;	    /* it is told whether it is registered */
	EndpointOptions options;
	gboolean streams; /* ListAndWatch is open */
	gboolean is_late; /* is the end of the stream */
	gboolean stopped, over;
	gint64 stopped_us;
	guint serial;
};

static struct {
	const KubeletEra *era;
	Decisions *decisions;
	GPtrArray *resources; /* of Resource; NULL: kubelet does not run */
	GPtrArray *all;	      /* of Endpoint */
	guint made;
} endpoints;

/* ---- resources ---- */

static void slot_free(gpointer data)
{
	g_free(((ListedSlot *)data)->slot);
	g_free(data);
}

static void resource_free(gpointer data)
{
	Resource *resource = data;

	g_ptr_array_unref(resource->slots);
	g_free(resource->name);
	g_free(resource);
}

static Resource *resource_find(const char *name)
{
	for (guint i = 0; endpoints.resources && i < endpoints.resources->len; i++) {
		Resource *resource = endpoints.resources->pdata[i];

		if (g_str_equal(resource->name, name))
			return resource;
	}
	return NULL;
}

static Resource *resource_get(const char *name)
{
	Resource *resource = resource_find(name);

	if (resource)
		return resource;
	resource = g_new0(Resource, 1);
	resource->name = g_strdup(name);
	resource->slots = g_ptr_array_new_with_free_func(slot_free);
	g_ptr_array_add(endpoints.resources, resource);
	return resource;
}

const GPtrArray *kubelet_list(const char *name)
{
	const Resource *resource = resource_find(name);

	return resource ? resource->slots : NULL;
}

gboolean kubelet_has_removed(const char *name)
{
	const Resource *resource = resource_find(name);
	const Endpoint *endpoint = resource ? resource->endpoint : NULL;

	return endpoint && endpoint->stopped &&
	       clock_now_us() - endpoint->stopped_us > STOP_GRACE_US;
}

guint kubelet_endpoints(const char *name)
{
	guint n = 0;

	for (guint i = 0; endpoints.all && i < endpoints.all->len; i++) {
		const Endpoint *endpoint = endpoints.all->pdata[i];

		n += endpoint->streams && !endpoint->stopped &&
		     g_str_equal(endpoint->resource->name, name);
	}
	return n;
}

gboolean kubelet_hides_stop(const char *name)
{
	const Resource *resource = resource_find(name);
	gboolean is_healthy = FALSE;

	for (guint i = 0; resource && i < resource->slots->len; i++)
		is_healthy |= ((const ListedSlot *)resource->slots->pdata[i])->healthy;
	return is_healthy && resource->endpoint && resource->endpoint->stopped;
}

const Endpoint *kubelet_endpoint_find(const char *name)
{
	const Resource *resource = resource_find(name);
	const Endpoint *endpoint = resource ? resource->endpoint : NULL;

	return endpoint && !endpoint->stopped ? endpoint : NULL;
}

guint kubelet_endpoint(const char *name)
{
	const Endpoint *endpoint = kubelet_endpoint_find(name);

	return endpoint ? endpoint->serial : 0;
}

RdmadGrpcChannel *kubelet_endpoint_channel(const Endpoint *endpoint)
{
	return endpoint->channel;
}

gboolean kubelet_endpoint_prefers(const Endpoint *endpoint)
{
	return endpoint->options.preferred;
}

gboolean kubelet_pre_start(const char *name, RdmadGrpcChannel **channel)
{
	const Resource *resource = resource_find(name);
	const Endpoint *endpoint = kubelet_endpoint_find(name);

	*channel = endpoint ? endpoint->channel : NULL;
	return resource && resource->pre_start;
}

/* ---- endpoints ---- */

static void endpoint_free(gpointer data)
{
	Endpoint *endpoint = data;

	containers_channel_ends(endpoint->channel);
	if (endpoint->registering)
		rdmad_grpc_call_unref(endpoint->registering);
	rdmad_grpc_channel_free(endpoint->channel);
	rdmad_event_free(endpoint->dial);
	rdmad_event_free(endpoint->notice);
	g_free(endpoint->path);
	g_free(endpoint);
}

static void list_came(const guint8 *bytes, gsize size, gpointer data)
{
	Endpoint *endpoint = data;
	Resource *resource = endpoint->resource;
	V1beta1__ListAndWatchResponse *list =
		v1beta1__list_and_watch_response__unpack(NULL, size, bytes);

	g_assert_nonnull(list);
	g_ptr_array_set_size(resource->slots, 0);
	for (gsize i = 0; i < list->n_devices; i++) {
		ListedSlot *slot = g_new(ListedSlot, 1);

		*slot = (ListedSlot){ g_strdup(list->devices[i]->id),
				      g_str_equal(list->devices[i]->health, "Healthy") };
		g_ptr_array_add(resource->slots, slot);
	}
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
	kubelet_has_listed(resource->name);
}

/* Kubelet knows an endpoint only by the name of its resource, so the end of an older plugin's
 * stream also stops a newer one.  Only the oldest versions compared the streams. */
static void end_noticed(gpointer data)
{
	Endpoint *endpoint = data;
	Resource *resource = endpoint->resource;

	if (endpoint->is_late)
		judge_late_end();
	endpoint->streams = FALSE;
	endpoint->stopped = endpoint->over = TRUE;
	if (!endpoints.era->dials_inside && resource->endpoint != endpoint)
		return;
	if (resource->endpoint != endpoint)
		judge_hand_over_disturbed();
	if (resource->endpoint) {
		resource->endpoint->stopped = TRUE;
		resource->endpoint->stopped_us = clock_now_us();
	}
	for (guint i = 0; i < resource->slots->len; i++)
		((ListedSlot *)resource->slots->pdata[i])->healthy = FALSE;
}

/* rdmad waits half a second after the end of a killed one. */
static void list_ended(RdmadGrpcStatus status, const char *text, gpointer data)
{
	static const guint after_ms[] = { 0, 200, 3000, 8000 };
	Endpoint *endpoint = data;
	const guint how =
		decide_rarely(endpoints.decisions, DECIDE_NOTICE, 8, G_N_ELEMENTS(after_ms));

	endpoint->streams = FALSE;
	endpoint->is_late = after_ms[how] > 500;
	if (how)
		rdmad_event_arm(endpoint->notice, after_ms[how]);
	else
		end_noticed(endpoint);
}

static void register_answer(Endpoint *endpoint, const char *error)
{
	if (endpoint->is_answered)
		return;
	endpoint->is_answered = TRUE;
	if (!endpoint->registering) {
		kubelet_registry_connected(endpoint->path, error);
		return;
	}
	if (error)
		rdmad_grpc_call_fail(endpoint->registering, RDMAD_GRPC_UNKNOWN, "%s", error);
	else
		rdmad_grpc_call_reply(endpoint->registering, (const guint8 *)"", 0);
	g_clear_pointer(&endpoint->registering, rdmad_grpc_call_unref);
}

/* The oldest kubelets take what Register has said. */
static void options_came(const guint8 *bytes, gsize size, gpointer data)
{
	Endpoint *endpoint = data;
	V1beta1__DevicePluginOptions *options =
		v1beta1__device_plugin_options__unpack(NULL, size, bytes);

	g_assert_nonnull(options);
	if (endpoints.era->dials_inside || endpoints.era->has_registry)
		endpoint->options =
			(EndpointOptions){ options->pre_start_required,
					   options->get_preferred_allocation_available };
	v1beta1__device_plugin_options__free_unpacked(options, NULL);
}

static void options_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	static const RdmadGrpcRequestOps list_ops = { list_came, list_ended };
	Endpoint *endpoint = data;

	if (status != RDMAD_GRPC_OK) {
		register_answer(endpoint, "failed to dial device plugin");
		endpoint->stopped = endpoint->over = TRUE;
		return;
	}
	endpoint->resource->endpoint = endpoint;
	endpoint->resource->pre_start = endpoint->options.pre_start;
	endpoint->streams = TRUE;
	rdmad_grpc_channel_call(endpoint->channel, "/v1beta1.DevicePlugin/ListAndWatch", NULL, 0, 0,
				&list_ops, endpoint);
	register_answer(endpoint, NULL);
}

static void endpoint_dial(gpointer data)
{
	static const RdmadGrpcRequestOps ops = { options_came, options_done };
	Endpoint *endpoint = data;

	rdmad_grpc_channel_call(endpoint->channel, "/v1beta1.DevicePlugin/GetDevicePluginOptions",
				NULL, 0, OPTIONS_MS, &ops, endpoint);
}

void kubelet_endpoint_connect(const char *name, const char *path, const EndpointOptions *options,
			      RdmadGrpcCall *registering)
{
	static const guint after_ms[] = { 0, 100, 1000 };
	const guint how =
		decide_rarely(endpoints.decisions, DECIDE_DIAL, 8, G_N_ELEMENTS(after_ms));
	Endpoint *endpoint = g_new0(Endpoint, 1);

	endpoint->serial = ++endpoints.made;
	endpoint->resource = resource_get(name);
	endpoint->path = g_strdup(path);
	endpoint->options = *options;
	endpoint->channel = rdmad_grpc_channel_new(kubelet_loop(), NULL, path, DEVICES_MESSAGE);
	if (registering)
		endpoint->registering = rdmad_grpc_call_ref(registering);
	if (registering && !endpoints.era->dials_inside)
		register_answer(endpoint, NULL);
	endpoint->dial = rdmad_loop_add_timer(kubelet_loop(), NULL, endpoint_dial, endpoint);
	endpoint->notice = rdmad_loop_add_timer(kubelet_loop(), NULL, end_noticed, endpoint);
	g_ptr_array_add(endpoints.all, endpoint);
	if (how)
		rdmad_event_arm(endpoint->dial, after_ms[how]);
	else
		endpoint_dial(endpoint);
}

void kubelet_endpoint_lose(const char *path)
{
	for (guint i = 0; i < endpoints.all->len; i++) {
		Endpoint *endpoint = endpoints.all->pdata[i];

		if (!endpoint->over && g_str_equal(endpoint->path, path))
			end_noticed(endpoint);
	}
}

void kubelet_endpoints_sweep(void)
{
	for (guint i = endpoints.all->len; i-- > 0;) {
		Endpoint *endpoint = endpoints.all->pdata[i];

		if (!endpoint->over)
			continue;
		if (endpoint->resource->endpoint == endpoint)
			endpoint->resource->endpoint = NULL;
		kubelet_admission_lose(endpoint);
		g_ptr_array_remove_index(endpoints.all, i);
	}
}

void kubelet_endpoints_start(const KubeletEra *era, Decisions *decisions)
{
	endpoints.era = era;
	endpoints.decisions = decisions;
	endpoints.resources = g_ptr_array_new_with_free_func(resource_free);
	endpoints.all = g_ptr_array_new_with_free_func(endpoint_free);
}

void kubelet_endpoints_stop(void)
{
	g_clear_pointer(&endpoints.all, g_ptr_array_unref);
	g_clear_pointer(&endpoints.resources, g_ptr_array_unref);
}
