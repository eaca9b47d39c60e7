/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses shared by all clients
 *
 * Repeated requests at a TCP listener must not delay kubelet's requests.  A response is cached for
 * CACHE_TIMES its build time, so that building one resource takes at most a hundredth of the loop's
 * time, regardless of the number of requests.  Requests at the control socket always get a new
 * response.
 *
 * A job reads the files that a response needs.  Each resource has at most one job; concurrent
 * requests share its result.  When the job takes too long, the response is sent without the files.
 */
#define RDMAD_LOG_TOPIC "api"

#include <rdmad/clock.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/work.h>
#include <string.h>

#include "api/json.h"
#include "api/api.h"
#include "api/texts.h"
#include "http/http.h"

#define CACHE_TIMES  100
#define CACHE_MAX_US G_USEC_PER_SEC
/* All cached texts are freed after this time without a request. */
#define FORGET_MS 60000u
/* Reading takes milliseconds; people accept seconds. */
#define READ_MS 3000u

typedef struct {
	const RdmadServices *services;
	const ApiResource *resource; /* of the last request */
	GBytes *body;
	gint64 until_us;
	RdmadJob *job; /* reads the files; NULL: no job runs */
	gint64 began_us;
	RdmadEvent *timeout; /* timer: while a request waits */
	GPtrArray *waiting;  /* Waiter */
} Cached;

typedef struct {
	Cached *cached;
	RdmadHttpRequest *request;
} Waiter;

struct RdmadApi {
	Cached cached[N_API_SHARED];
	ApiTexts *events, *allocations;
	char *device_names; /* in the texts of allocations */
	RdmadEvent *forget;
};

static void cached_timeout(gpointer data);

static void api_forget(gpointer data)
{
	struct RdmadApi *api = data;

	for (guint i = 0; i < N_API_SHARED; i++)
		g_clear_pointer(&api->cached[i].body, g_bytes_unref);
	api_texts_clear(api->events);
	api_texts_clear(api->allocations);
}

struct RdmadApi *rdmad_api_new(const RdmadServices *services)
{
	struct RdmadApi *api = g_new0(struct RdmadApi, 1);
	RdmadLoop *loop = services->loop;

	for (guint i = 0; i < N_API_SHARED; i++) {
		Cached *cached = &api->cached[i];

		cached->services = services;
		cached->waiting = g_ptr_array_new_with_free_func(g_free);
		cached->timeout = rdmad_loop_add_timer(loop, NULL, cached_timeout, cached);
	}
	api->events = api_texts_new(NULL, NULL);
	api->allocations = api_allocation_texts_new();
	api->forget = rdmad_loop_add_timer(loop, NULL, api_forget, api);
	return api;
}

void rdmad_api_free(struct RdmadApi *api)
{
	if (!api)
		return;
	api_forget(api);
	for (guint i = 0; i < N_API_SHARED; i++) {
		Cached *cached = &api->cached[i];

		g_assert(!cached->waiting->len);
		rdmad_job_cancel(cached->job);
		rdmad_event_free(cached->timeout);
		g_ptr_array_unref(cached->waiting);
	}
	api_texts_free(api->events);
	api_texts_free(api->allocations);
	rdmad_event_free(api->forget);
	g_free(api->device_names);
	g_free(api);
}

ApiTexts *api_event_texts(const RdmadServices *services)
{
	rdmad_event_arm(services->api->forget, FORGET_MS);
	return services->api->events;
}

ApiTexts *api_allocation_texts(const RdmadServices *services, const char *device_names)
{
	struct RdmadApi *api = services->api;

	rdmad_event_arm(api->forget, FORGET_MS);
	if (g_strcmp0(api->device_names, device_names)) {
		api_texts_clear(api->allocations);
		g_free(api->device_names);
		api->device_names = g_strdup(device_names);
	}
	return api->allocations;
}

GBytes *api_json_bytes(json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);

	json_decref(value);
	return text ? g_bytes_new_with_free_func(text, strlen(text), free, text) : NULL;
}

static void cached_build(Cached *cached, gconstpointer read)
{
	const gint64 began_us = rdmad_now_us();
	gint64 now_us;

	g_clear_pointer(&cached->body, g_bytes_unref);
	cached->body = cached->resource->build(cached->services, read);
	now_us = rdmad_now_us();
	cached->until_us = now_us + MIN((now_us - began_us) * CACHE_TIMES, CACHE_MAX_US);
	rdmad_event_arm(cached->services->api->forget, FORGET_MS);
}

static void cached_reply(const Cached *cached, RdmadHttpRequest *request)
{
	if (cached->body)
		rdmad_http_reply_bytes(request, 200, "application/json", cached->body);
	else
		rdmad_http_fail(request, 500, "the answer cannot be written as JSON");
}

/* ---- files ---- */

static void waiter_closed(gpointer data)
{
	Waiter *waiter = data;

	Cached *cached = waiter->cached;

	g_ptr_array_remove(cached->waiting, waiter);
	if (!cached->waiting->len)
		rdmad_event_disarm(cached->timeout);
}

/* Builds the response, without files if `read` is NULL, and sends it to all waiters. */
static void cached_complete(Cached *cached, gconstpointer read)
{
	rdmad_event_disarm(cached->timeout);
	cached_build(cached, read);
	/* A response may cause another request or close a connection, which changes the array. */
	for (guint n = cached->waiting->len; n && cached->waiting->len; n--) {
		g_autofree Waiter *waiter = g_ptr_array_steal_index(cached->waiting, 0);

		rdmad_http_request_on_gone(waiter->request, NULL, NULL);
		cached_reply(cached, waiter->request);
	}
}

static void cached_timeout(gpointer data)
{
	Cached *cached = data;

	rdmad_warn("%s: its files have not been read in %u s", cached->resource->read->name,
		   READ_MS / 1000);
	cached_complete(cached, NULL);
}

void api_resource_read(gpointer result, const GError *error, gpointer data)
{
	Cached *cached = data;
	const ApiResource *resource = cached->resource;

	cached->job = NULL;
	if (cached->waiting->len)
		cached_complete(cached, result);
	if (result)
		resource->read->free_result(result);
}

gpointer api_sysroot_input(const RdmadServices *services)
{
	return services->sysroot;
}

/* Returns FALSE if no job could be started or the running one hangs: later requests neither start a
 * second job nor wait. */
static gboolean cached_read(Cached *cached)
{
	const ApiResource *resource = cached->resource;
	const gint64 now_us = rdmad_now_us();
	g_autoptr(GError) error = NULL;

	if (cached->job)
		return now_us - cached->began_us < READ_MS * 1000;
	cached->began_us = now_us;
	cached->job = rdmad_work_submit(cached->services->workers, NULL, resource->read,
					resource->input(cached->services), 0, cached, &error);
	if (!cached->job)
		rdmad_warn("%s: %s", resource->read->name, error->message);
	return cached->job != NULL;
}

static void cached_wait(Cached *cached, RdmadHttpRequest *request)
{
	Waiter *waiter = g_new0(Waiter, 1);

	waiter->cached = cached;
	waiter->request = request;
	g_ptr_array_add(cached->waiting, waiter);
	rdmad_http_request_on_gone(request, waiter_closed, waiter);
	if (!rdmad_event_armed(cached->timeout))
		rdmad_event_arm(cached->timeout, READ_MS);
}

void api_reply_shared(RdmadHttpRequest *request, const RdmadServices *services, ApiShared which,
		      const ApiResource *resource)
{
	Cached *cached = &services->api->cached[which];

	cached->resource = resource;
	if (cached->body && !rdmad_http_request_is_local(request) &&
	    rdmad_now_us() <= cached->until_us) {
		cached_reply(cached, request);
		return;
	}
	if (resource->read && cached_read(cached)) {
		cached_wait(cached, request);
		return;
	}
	cached_build(cached, NULL);
	cached_reply(cached, request);
}
