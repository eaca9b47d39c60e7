/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses that all clients share
 *
 * Repeated requests at a TCP listener must not keep the loop from kubelet: a response is kept for
 * KEEP_TIMES as long as it took to build, so that building one resource takes no more than a
 * hundredth of the loop's time, whatever the number of requests.  Requests at the control socket
 * always get a new response.
 *
 * Files that an answer needs are read by a job, one at a time for each resource, and all requests
 * that arrive meanwhile wait for it.  When it takes too long, the response is sent without them.
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

#define KEEP_TIMES  100
#define KEEP_MAX_US G_USEC_PER_SEC
/* When idle, all of it is freed. */
#define FORGET_MS 60000u
/* Files that are there are read in milliseconds; people wait for seconds. */
#define READ_MS 3000u

typedef struct {
	const RdmadServices *services;
	const ApiResource *resource; /* of the last request */
	GBytes *body;
	gint64 until_us;
	RdmadJob *job; /* reads; NULL: none does */
	gint64 began_us;
	RdmadEvent *late;   /* timer: while a request waits */
	GPtrArray *waiting; /* Waiter */
} Kept;

typedef struct {
	Kept *kept;
	RdmadHttpRequest *request;
} Waiter;

struct RdmadApi {
	Kept kept[N_API_SHARED];
	ApiTexts *events, *allocations;
	char *device_names; /* that the allocations' texts have */
	RdmadEvent *forget;
};

static void kept_late(gpointer data);

static void api_forget(gpointer data)
{
	struct RdmadApi *api = data;

	for (guint i = 0; i < N_API_SHARED; i++)
		g_clear_pointer(&api->kept[i].body, g_bytes_unref);
	api_texts_clear(api->events);
	api_texts_clear(api->allocations);
}

struct RdmadApi *rdmad_api_new(const RdmadServices *services)
{
	struct RdmadApi *api = g_new0(struct RdmadApi, 1);
	RdmadLoop *loop = services->loop;

	for (guint i = 0; i < N_API_SHARED; i++) {
		Kept *kept = &api->kept[i];

		kept->services = services;
		kept->waiting = g_ptr_array_new_with_free_func(g_free);
		kept->late = rdmad_loop_add_timer(loop, NULL, kept_late, kept);
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
		Kept *kept = &api->kept[i];

		g_assert(!kept->waiting->len);
		rdmad_job_cancel(kept->job);
		rdmad_event_free(kept->late);
		g_ptr_array_unref(kept->waiting);
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

static void kept_build(Kept *kept, gconstpointer read)
{
	const gint64 began_us = rdmad_now_us();
	gint64 now_us;

	g_clear_pointer(&kept->body, g_bytes_unref);
	kept->body = kept->resource->build(kept->services, read);
	now_us = rdmad_now_us();
	kept->until_us = now_us + MIN((now_us - began_us) * KEEP_TIMES, KEEP_MAX_US);
	rdmad_event_arm(kept->services->api->forget, FORGET_MS);
}

static void kept_reply(const Kept *kept, RdmadHttpRequest *request)
{
	if (kept->body)
		rdmad_http_reply_bytes(request, 200, "application/json", kept->body);
	else
		rdmad_http_fail(request, 500, "the answer cannot be written as JSON");
}

/* ---- files that are read ---- */

static void waiter_gone(gpointer data)
{
	Waiter *waiter = data;

	Kept *kept = waiter->kept;

	g_ptr_array_remove(kept->waiting, waiter);
	if (!kept->waiting->len)
		rdmad_event_disarm(kept->late);
}

/* `read` NULL: without the files. */
static void kept_answer(Kept *kept, gconstpointer read)
{
	rdmad_event_disarm(kept->late);
	kept_build(kept, read);
	/* A response may cause another request, or the end of a connection. */
	for (guint n = kept->waiting->len; n && kept->waiting->len; n--) {
		g_autofree Waiter *waiter = g_ptr_array_steal_index(kept->waiting, 0);

		rdmad_http_request_on_gone(waiter->request, NULL, NULL);
		kept_reply(kept, waiter->request);
	}
}

static void kept_late(gpointer data)
{
	Kept *kept = data;

	rdmad_warn("%s: its files have not been read in %u s", kept->resource->read->name,
		   READ_MS / 1000);
	kept_answer(kept, NULL);
}

void api_resource_read(gpointer result, const GError *error, gpointer data)
{
	Kept *kept = data;
	const ApiResource *resource = kept->resource;

	kept->job = NULL;
	if (kept->waiting->len)
		kept_answer(kept, result);
	if (result)
		resource->read->free_result(result);
}

gpointer api_sysroot_input(const RdmadServices *services)
{
	return services->sysroot;
}

/* A job that hangs is not joined by a second one: later requests do not wait for it. */
static gboolean kept_read(Kept *kept)
{
	const ApiResource *resource = kept->resource;
	const gint64 now_us = rdmad_now_us();
	g_autoptr(GError) error = NULL;

	if (kept->job)
		return now_us - kept->began_us < READ_MS * 1000;
	kept->began_us = now_us;
	kept->job = rdmad_work_submit(kept->services->workers, NULL, resource->read,
				      resource->input(kept->services), 0, kept, &error);
	if (!kept->job)
		rdmad_warn("%s: %s", resource->read->name, error->message);
	return kept->job != NULL;
}

static void kept_wait(Kept *kept, RdmadHttpRequest *request)
{
	Waiter *waiter = g_new0(Waiter, 1);

	waiter->kept = kept;
	waiter->request = request;
	g_ptr_array_add(kept->waiting, waiter);
	rdmad_http_request_on_gone(request, waiter_gone, waiter);
	if (!rdmad_event_armed(kept->late))
		rdmad_event_arm(kept->late, READ_MS);
}

void api_reply_shared(RdmadHttpRequest *request, const RdmadServices *services, ApiShared which,
		      const ApiResource *resource)
{
	Kept *kept = &services->api->kept[which];

	kept->resource = resource;
	if (kept->body && !rdmad_http_request_is_local(request) &&
	    rdmad_now_us() <= kept->until_us) {
		kept_reply(kept, request);
		return;
	}
	if (resource->read && kept_read(kept)) {
		kept_wait(kept, request);
		return;
	}
	kept_build(kept, NULL);
	kept_reply(kept, request);
}
