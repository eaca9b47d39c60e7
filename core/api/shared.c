/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that all who ask share
 *
 * What a TCP listener is asked for again and again must not take the loop from kubelet: an answer is kept
 * for KEEP_TIMES as long as it took to build, so that building one resource takes no more than a
 * hundredth of the loop's time, however many ask.  The control socket gets what is true now.
 */
#include <rdmad/loop.h>
#include <string.h>

#include "api/json.h"
#include "api/api.h"
#include "api/texts.h"
#include "http/http.h"

#define KEEP_TIMES  100
#define KEEP_MAX_US G_USEC_PER_SEC
/* Idle, all of it goes back. */
#define FORGET_MS 60000u

typedef struct {
	GBytes *body;
	gint64 until_us;
} Kept;

struct RdmadApi {
	Kept kept[N_API_SHARED];
	ApiTexts *events, *allocations;
	char *device_names; /* that the allocations' texts have */
	RdmadEvent *forget;
};

static void api_forget(gpointer data)
{
	struct RdmadApi *api = data;

	for (guint i = 0; i < N_API_SHARED; i++)
		g_clear_pointer(&api->kept[i].body, g_bytes_unref);
	api_texts_clear(api->events);
	api_texts_clear(api->allocations);
}

struct RdmadApi *rdmad_api_new(RdmadLoop *loop)
{
	struct RdmadApi *api = g_new0(struct RdmadApi, 1);

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

static GBytes *kept_build(Kept *kept, const RdmadServices *services, ApiBuild build)
{
	const gint64 began_us = g_get_monotonic_time();
	gint64 now_us;

	g_clear_pointer(&kept->body, g_bytes_unref);
	kept->body = build(services);
	now_us = g_get_monotonic_time();
	kept->until_us = now_us + MIN((now_us - began_us) * KEEP_TIMES, KEEP_MAX_US);
	rdmad_event_arm(services->api->forget, FORGET_MS);
	return kept->body;
}

void api_reply_shared(RdmadHttpRequest *request, const RdmadServices *services, ApiShared which,
		      ApiBuild build)
{
	Kept *kept = &services->api->kept[which];
	GBytes *body = kept->body;

	if (!body || rdmad_http_request_is_local(request) ||
	    g_get_monotonic_time() > kept->until_us)
		body = kept_build(kept, services, build);
	if (body)
		rdmad_http_reply_bytes(request, 200, "application/json", body);
	else
		rdmad_http_fail(request, 500, "the answer cannot be written as JSON");
}
