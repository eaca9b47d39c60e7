/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/events?after=SEQUENCE&wait=SECONDS
 *
 * Returns the entries after SEQUENCE, oldest first, and the last sequence.  Without such an entry,
 * `wait` delays the response until the next entry or the end of that time (a long poll).
 * A `last` below the caller's SEQUENCE means that rdmad was restarted: start again from 0.
 */
#include <rdmad/inventory.h>
#include <rdmad/event-log.h>
#include <rdmad/loop.h>

#include "base/log.h"
#include "api/json.h"
#include "api/texts.h"
#include "http/http.h"
#include "service/event-log-private.h"

#define MAX_WAIT_S 60u

static json_t *entry_json(gconstpointer object_entry, gconstpointer data)
{
	const RdmadEventLogEntry *entry = object_entry;
	json_t *object = json_object();

	api_set(object, "sequence", json_integer(entry->sequence));
	api_set(object, "time", api_json_time(entry->time_us));
	api_set(object, "level", json_string(rdmad_log_level_name(entry->level)));
	api_set(object, "kind", rdmad_json_string(entry->kind));
	api_set(object, "device_id", rdmad_json_string(entry->device));
	api_set_pod(object, entry->pod);
	api_set(object, "resource", rdmad_json_string(entry->resource));
	api_set(object, "allocation", rdmad_json_string(entry->allocation));
	api_set(object, "message", rdmad_json_string(entry->message));
	return object;
}

/* The sequence of an entry is its key: it is never reused. */
static void text_add(const RdmadEventLogEntry *entry, gpointer texts)
{
	api_texts_add(texts, GSIZE_TO_POINTER(entry->sequence), entry_json, entry, NULL);
}

static GBytes *events_after(const RdmadServices *services, guint64 after)
{
	RdmadEventLog *event_log = services->event_log;
	ApiTexts *texts = api_event_texts(services);
	GString *body = g_string_new("{\"events\":");

	api_texts_begin(texts, body);
	rdmad_event_log_foreach(event_log, after, text_add, texts);
	api_texts_end(texts, GSIZE_TO_POINTER(rdmad_event_log_oldest(event_log)));
	g_string_append_printf(body, ",\"last\":%" G_GUINT64_FORMAT "}",
			       rdmad_event_log_last(event_log));
	return g_string_free_to_bytes(body);
}

static GBytes *events_build(const RdmadServices *services, gconstpointer read)
{
	return events_after(services, 0);
}

static void reply_events(RdmadHttpRequest *request, const RdmadServices *services, guint64 after)
{
	g_autoptr(GBytes) body = events_after(services, after);

	rdmad_http_reply_bytes(request, 200, "application/json", body);
}

typedef struct {
	RdmadHttpRequest *request;
	const RdmadServices *services;
	guint64 after;
	RdmadWatch *watch;
	RdmadEvent *timer;
} Poll;

static void poll_free(gpointer data)
{
	Poll *poll = data;

	rdmad_watch_free(poll->watch);
	rdmad_event_free(poll->timer);
	g_free(poll);
}

static void poll_answer(gpointer data)
{
	Poll *poll = data;

	rdmad_http_request_on_gone(poll->request, NULL, NULL);
	reply_events(poll->request, poll->services, poll->after);
	poll_free(poll);
}

/* Replies in the next iteration of the loop, so that simultaneous entries share a response. */
static void poll_posted(const RdmadEventLogEntry *entry, gpointer data)
{
	Poll *poll = data;

	rdmad_event_arm(poll->timer, 0);
}

static void poll_start(RdmadHttpRequest *request, const RdmadServices *services, guint64 after,
		       guint wait_s)
{
	Poll *poll = g_new0(Poll, 1);

	poll->request = request;
	poll->services = services;
	poll->after = after;
	poll->watch = rdmad_event_log_watch(services->event_log, NULL, poll_posted, poll);
	poll->timer = rdmad_loop_add_timer(services->loop, NULL, poll_answer, poll);
	if (!rdmad_http_request_is_local(request))
		rdmad_event_set_low(poll->timer);
	rdmad_event_arm(poll->timer, wait_s * 1000);
	rdmad_http_request_on_gone(request, poll_free, poll);
}

/* Sends an error response and returns FALSE if the parameter is invalid. */
static gboolean read_number(RdmadHttpRequest *request, const char *name, guint64 max,
			    guint64 *value)
{
	const char *text = rdmad_http_request_query(request, name);

	*value = 0;
	if (!text)
		return TRUE;
	if (g_ascii_string_to_unsigned(text, 10, 0, max, value, NULL))
		return TRUE;
	rdmad_http_fail(request, 400, "\"%s\" must be a number from 0 to %" G_GUINT64_FORMAT, name,
			max);
	return FALSE;
}

static const ApiResource events_resource = { .build = events_build };

void api_get_events(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	guint64 after, wait_s;

	if (!read_number(request, "after", G_MAXINT64, &after) ||
	    !read_number(request, "wait", MAX_WAIT_S, &wait_s))
		return;
	if (!wait_s && !after)
		api_reply_shared(request, services, API_SHARED_EVENTS, &events_resource);
	else if (!wait_s || rdmad_event_log_last(services->event_log) != after)
		reply_events(request, services, after);
	else if (rdmad_http_request_park(request))
		poll_start(request, services, after, wait_s);
}
