/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	request -> collector_request -> text of a copy, on a worker -> reply
 *
 * Ten minutes of many ports are tens of thousands of numbers, which take the loop too long.  One
 * response is made at a time: its copy is some hundred KiB.
 */
#include "traffic/route.h"

#include <jansson.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/http.h>
#include <rdmad/module.h>
#include <rdmad/work.h>
#include <string.h>

#define PATH "/api/v1/traffic"
#define DEADLINE_MS                                                                                \
	2000u /* less than the 2.5 s between updates of the page; slow devices are left out */

/* A request that waits for the devices, for its turn, or for its text. */
typedef struct {
	TrafficRoute *route;
	GList node;
	RdmadHttpRequest *request;
	CollectorRequest *reading; /* NULL: read */
	gint64 after;
} Waiter;

struct TrafficRoute {
	RdmadModule *self;
	Collector *collector;
	Traffic *traffic;
	GQueue reading, ready; /* Waiter */
	RdmadJob *job;	       /* makes a text */
	Waiter *answering;     /* gets it; NULL: has gone */
};

typedef struct {
	Traffic *traffic;
	gint64 after, now_us;
} TextTask;

static void waiter_free(Waiter *waiter)
{
	TrafficRoute *route = waiter->route;

	if (route->answering == waiter)
		route->answering = NULL;
	else
		g_queue_unlink(waiter->reading ? &route->reading : &route->ready, &waiter->node);
	collector_request_cancel(waiter->reading);
	g_free(waiter);
}

static void waiter_gone(gpointer data)
{
	waiter_free(data);
}

static void waiter_fail(Waiter *waiter, const char *text)
{
	RdmadHttpRequest *request = waiter->request;

	rdmad_http_request_on_gone(request, NULL, NULL);
	waiter_free(waiter);
	rdmad_http_fail(request, 503, "%s", text);
}

/* ---- the text ---- */

static void route_answer(TrafficRoute *route);

static void task_free(gpointer data)
{
	TextTask *task = data;

	traffic_free(task->traffic);
	g_free(task);
}

static gpointer text_make(gpointer input, const RdmadJob *job, GError **error)
{
	const TextTask *task = input;
	json_t *json = traffic_json(task->traffic, task->after, task->now_us);
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	if (!text)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "the answer cannot be written as JSON");
	return text;
}

static void text_done(gpointer result, const GError *error, gpointer data)
{
	TrafficRoute *route = data;
	Waiter *waiter = route->answering;
	char *text = result;

	route->job = NULL;
	if (waiter && error) {
		waiter_fail(waiter, error->message);
	} else if (waiter) {
		RdmadHttpRequest *request = waiter->request;

		rdmad_http_request_on_gone(request, NULL, NULL);
		waiter_free(waiter);
		rdmad_http_reply_take(request, 200, "application/json", text, strlen(text));
		text = NULL;
	}
	free(text);
	route_answer(route);
}

static const RdmadJobClass TEXT_JOB = {
	.name = "traffic",
	.run = text_make,
	.done = text_done,
	.free_input = task_free,
	.free_result = free,
};

static void waiter_answer(Waiter *waiter)
{
	TrafficRoute *route = waiter->route;
	TextTask *task = g_new0(TextTask, 1);
	g_autoptr(GError) error = NULL;

	g_queue_unlink(&route->ready, &waiter->node);
	route->answering = waiter;
	task->after = waiter->after;
	task->now_us = rdmad_now_us();
	traffic_forget_old(route->traffic, task->now_us);
	task->traffic = traffic_copy(route->traffic);
	route->job = rdmad_work_submit(rdmad_module_workers(route->self), route->self, &TEXT_JOB,
				       task, 0, route, &error);
	if (!route->job)
		waiter_fail(waiter, error->message);
}

static void route_answer(TrafficRoute *route)
{
	while (!route->job && route->ready.head)
		waiter_answer(route->ready.head->data);
}

/* ---- requests ---- */

static void waiter_read(Snapshot *snapshot, gpointer data)
{
	Waiter *waiter = data;
	TrafficRoute *route = waiter->route;

	waiter->reading = NULL;
	g_queue_unlink(&route->reading, &waiter->node);
	g_queue_push_tail_link(&route->ready, &waiter->node);
	route_answer(route);
}

static gboolean read_after(RdmadHttpRequest *request, gint64 *after)
{
	const char *text = rdmad_http_request_query(request, "after");
	guint64 value = 0;

	if (text && !g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, &value, NULL)) {
		rdmad_http_fail(request, 400,
				"\"after\" must be the \"last\" of an earlier answer");
		return FALSE;
	}
	*after = (gint64)value;
	return TRUE;
}

static void get_traffic(RdmadHttpRequest *request, gpointer data)
{
	TrafficRoute *route = data;
	Waiter *waiter;
	gint64 after;

	if (!read_after(request, &after))
		return;
	waiter = g_new0(Waiter, 1);
	waiter->route = route;
	waiter->node.data = waiter;
	waiter->request = request;
	waiter->after = after;
	g_queue_push_tail_link(&route->reading, &waiter->node);
	rdmad_http_request_on_gone(request, waiter_gone, waiter);
	waiter->reading = collector_request(route->collector, DEADLINE_MS, waiter_read, waiter);
}

TrafficRoute *traffic_route_new(RdmadModule *self, Collector *collector, Traffic *traffic,
				GError **error)
{
	TrafficRoute *route = g_new0(TrafficRoute, 1);

	*route = (TrafficRoute){ .self = self, .collector = collector, .traffic = traffic };
	if (rdmad_http_route(rdmad_module_http(self), self, "GET", PATH,
			     RDMAD_HTTP_LOCAL | RDMAD_HTTP_PUBLIC, get_traffic, route, error))
		return route;
	g_free(route);
	return NULL;
}

static void fail_all(GQueue *waiters)
{
	while (waiters->head)
		waiter_fail(waiters->head->data, "the module metrics has been stopped");
}

void traffic_route_free(TrafficRoute *route)
{
	if (!route)
		return;
	rdmad_http_unroute(rdmad_module_http(route->self), "GET", PATH);
	rdmad_job_cancel(route->job);
	fail_all(&route->reading);
	fail_all(&route->ready);
	if (route->answering)
		waiter_fail(route->answering, "the module metrics has been stopped");
	g_free(route);
}
