/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic/route.h"

#include <jansson.h>
#include <rdmad/clock.h>
#include <rdmad/http.h>
#include <rdmad/module.h>

#define PATH "/api/v1/traffic"
#define DEADLINE_MS                                                                                \
	2000u /* less than the 2.5 s between updates of the page; slow devices are left out */

struct TrafficRoute {
	RdmadModule *self;
	Collector *collector;
	Traffic *traffic;
	GQueue waiting; /* Waiter */
};

/* A request that waits for the devices. */
typedef struct {
	TrafficRoute *route;
	GList node;
	RdmadHttpRequest *request;
	CollectorRequest *reading;
	gint64 after;
} Waiter;

static void waiter_free(Waiter *waiter)
{
	g_queue_unlink(&waiter->route->waiting, &waiter->node);
	g_free(waiter);
}

static void waiter_gone(gpointer data)
{
	Waiter *waiter = data;

	collector_request_cancel(waiter->reading);
	waiter_free(waiter);
}

static void waiter_answer(Snapshot *snapshot, gpointer data)
{
	Waiter *waiter = data;

	rdmad_http_request_on_gone(waiter->request, NULL, NULL);
	rdmad_http_reply_json(waiter->request,
			      traffic_json(waiter->route->traffic, waiter->after, rdmad_now_us()));
	waiter_free(waiter);
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
	g_queue_push_tail_link(&route->waiting, &waiter->node);
	rdmad_http_request_on_gone(request, waiter_gone, waiter);
	waiter->reading = collector_request(route->collector, DEADLINE_MS, waiter_answer, waiter);
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

void traffic_route_free(TrafficRoute *route)
{
	Waiter *waiter;

	if (!route)
		return;
	rdmad_http_unroute(rdmad_module_http(route->self), "GET", PATH);
	while ((waiter = g_queue_peek_head(&route->waiting))) {
		RdmadHttpRequest *request = waiter->request;

		rdmad_http_request_on_gone(request, NULL, NULL);
		waiter_gone(waiter);
		rdmad_http_fail(request, 503, "the module metrics has been stopped");
	}
	g_free(route);
}
