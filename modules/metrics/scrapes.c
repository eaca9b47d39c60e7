/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	request -> collector_request -> (snapshot) -> rendering on a worker -> replies
 *
 * At most two responses are rendered at a time, whatever the number of requests: each may be
 * megabytes.  Scrapes that wait for a rendering share it if they want the same text.
 */
#include "scrapes.h"

#include <jansson.h>
#include <math.h>
#include <rdmad/clock.h>
#include <rdmad/device.h>
#include <rdmad/doctor.h>
#include <rdmad/error.h>
#include <rdmad/http.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/module.h>
#include <rdmad/work.h>

#include "render/exposition.h"
#include "render/negotiate.h"
#include "render/render.h"

#define PATH		 "/metrics"
#define SCRAPES_MAX	 40u
#define RENDERINGS_MAX	 2u
#define TIMEOUT_MIN_S	 0.1
#define TIMEOUT_MAX_S	 300.0
#define MARGIN_MIN_S	 0.05 /* time to render, send and parse the response ... */
#define MARGIN_PER_CENT	 5    /* ... within the scraper's timeout */
#define RETRY_AFTER_TEXT "1"
#define MISSING_MAX	 64u

/* A response that a worker renders.  The job runs on when all of its scrapes have gone. */
typedef struct {
	Scrapes *scrapes;
	GList node; /* in `renderings` */
	Snapshot *snapshot;
	ExpositionFormat format;
	gboolean gzip;
	gint64 began_us; /* of the oldest scrape */
	RdmadJob *job;
	GQueue waiting; /* Scrape */
} Rendering;

typedef struct {
	Scrapes *scrapes;
	GList node;
	RdmadHttpRequest *http;
	ExpositionFormat format;
	gboolean gzip;
	gint64 began_us;
	CollectorRequest *collecting; /* NULL: collected */
	Snapshot *snapshot;
	GQueue *queue; /* `ready`, or that of its rendering; NULL: not collected yet */
	GList queue_node;
} Scrape;

/* Plain numbers, of which scrapes_status() makes text. */
typedef struct {
	gint64 wall_us; /* 0: no scrape yet */
	double seconds, collection;
	guint64 series;
	gsize bytes;
	guint devices;
	json_t *missing;
} LastScrape;

struct Scrapes {
	RdmadModule *self;
	Collector *collector;
	MetricsSettings *const *settings;
	GQueue all;	   /* Scrape */
	GQueue ready;	   /* Scrape: collected, waiting to be rendered */
	GQueue renderings; /* Rendering */
	LastScrape last;
};

/* ---- one scrape ---- */

static void scrape_leave_queue(Scrape *scrape)
{
	if (scrape->queue)
		g_queue_unlink(scrape->queue, &scrape->queue_node);
	scrape->queue = NULL;
}

static void scrape_enter_queue(Scrape *scrape, GQueue *queue)
{
	scrape_leave_queue(scrape);
	scrape->queue = queue;
	g_queue_push_tail_link(queue, &scrape->queue_node);
}

static void scrape_free(Scrape *scrape)
{
	collector_request_cancel(scrape->collecting);
	scrape_leave_queue(scrape);
	g_queue_unlink(&scrape->scrapes->all, &scrape->node);
	g_clear_pointer(&scrape->snapshot, snapshot_unref);
	g_free(scrape);
}

static void scrape_fail(Scrape *scrape, const char *text)
{
	RdmadHttpRequest *http = scrape->http;

	scrape_free(scrape);
	rdmad_http_add_header(http, "Retry-After", RETRY_AFTER_TEXT);
	rdmad_http_fail(http, 503, "%s", text);
}

static json_t *missing_json(const Snapshot *snapshot)
{
	json_t *missing = json_array();

	for (guint i = 0; i < snapshot->devices->len && json_array_size(missing) < MISSING_MAX;
	     i++) {
		const DeviceSample *sample = snapshot->devices->pdata[i];

		if (!sample->reading)
			json_array_append_new(missing,
					      json_pack("{s:o, s:o}", "device_name",
							rdmad_json_string(sample->device->name),
							"error", rdmad_json_string(sample->error)));
	}
	return missing;
}

static void scrape_reply(Scrape *scrape, GBytes *text)
{
	RdmadHttpRequest *http = scrape->http;
	const char *type = exposition_content_type(scrape->format);

	rdmad_http_add_header(http, "Vary", "Accept, Accept-Encoding");
	if (scrape->gzip)
		rdmad_http_add_header(http, "Content-Encoding", "gzip");
	scrape_free(scrape);
	rdmad_http_reply_bytes(http, 200, type, text);
}

/* ---- renderings ---- */

static void scrapes_render(Scrapes *scrapes);

static void rendering_free(Rendering *rendering)
{
	rdmad_job_cancel(rendering->job);
	g_queue_unlink(&rendering->scrapes->renderings, &rendering->node);
	snapshot_unref(rendering->snapshot);
	g_free(rendering);
}

static void rendering_note(const Rendering *rendering, const Answer *answer)
{
	const Snapshot *snapshot = rendering->snapshot;
	LastScrape *last = &rendering->scrapes->last;

	json_decref(last->missing);
	*last = (LastScrape){
		.wall_us = rdmad_wall_us(),
		.seconds = (rdmad_now_us() - rendering->began_us) / (double)G_USEC_PER_SEC,
		.collection = snapshot->seconds,
		.series = answer->series,
		.bytes = answer->size,
		.devices = snapshot->devices->len,
		.missing = missing_json(snapshot),
	};
}

static void rendering_reply(Rendering *rendering, Answer *answer)
{
	g_autoptr(GBytes) text = g_bytes_new_take(g_steal_pointer(&answer->text), answer->size);

	rendering_note(rendering, answer);
	while (rendering->waiting.head)
		scrape_reply(rendering->waiting.head->data, text);
}

static void rendering_fail(Rendering *rendering, const GError *error)
{
	while (rendering->waiting.head)
		scrape_fail(rendering->waiting.head->data, error->message);
}

static gpointer rendering_run(gpointer input, const RdmadJob *job, GError **error)
{
	return answer_make(input, error);
}

static void rendering_done(gpointer result, const GError *error, gpointer data)
{
	Rendering *rendering = data;
	Scrapes *scrapes = rendering->scrapes;

	rendering->job = NULL;
	if (error)
		rendering_fail(rendering, error);
	else
		rendering_reply(rendering, result);
	g_clear_pointer(&result, answer_free);
	rendering_free(rendering);
	scrapes_render(scrapes);
}

static const RdmadJobClass RENDERING_JOB = {
	.name = "metrics",
	.run = rendering_run,
	.done = rendering_done,
	.free_input = answer_task_free,
	.free_result = answer_free,
};

/* Takes the ready scrapes that want the same text as the first one. */
static Rendering *rendering_new(Scrapes *scrapes)
{
	Rendering *rendering = g_new0(Rendering, 1);
	const Scrape *first = scrapes->ready.head->data;

	rendering->scrapes = scrapes;
	rendering->node.data = rendering;
	rendering->snapshot = snapshot_ref(first->snapshot);
	rendering->format = first->format;
	rendering->gzip = first->gzip;
	rendering->began_us = first->began_us;
	for (GList *node = scrapes->ready.head, *next; node; node = next) {
		Scrape *scrape = node->data;

		next = node->next;
		if (scrape->format == rendering->format && scrape->gzip == rendering->gzip &&
		    snapshot_is_like(scrape->snapshot, rendering->snapshot))
			scrape_enter_queue(scrape, &rendering->waiting);
	}
	g_queue_push_tail_link(&scrapes->renderings, &rendering->node);
	return rendering;
}

static void rendering_start(Rendering *rendering)
{
	RdmadModule *self = rendering->scrapes->self;
	FamilySet *set = family_set_new();
	AnswerTask *task = answer_task_new(set, rendering->snapshot);
	g_autoptr(GError) error = NULL;

	task->format = rendering->format;
	task->gzip = rendering->gzip;
	render_services(set, rendering->snapshot, self);
	rendering->job = rdmad_work_submit(rdmad_module_workers(self), self, &RENDERING_JOB, task,
					   0, rendering, &error);
	if (rendering->job)
		return;
	rendering_fail(rendering, error);
	rendering_free(rendering);
}

static void scrapes_render(Scrapes *scrapes)
{
	while (scrapes->renderings.length < RENDERINGS_MAX && scrapes->ready.head)
		rendering_start(rendering_new(scrapes));
}

static void scrape_collected(Snapshot *snapshot, gpointer data)
{
	Scrape *scrape = data;

	scrape->collecting = NULL;
	scrape->snapshot = snapshot_ref(snapshot);
	scrape_enter_queue(scrape, &scrape->scrapes->ready);
	scrapes_render(scrape->scrapes);
}

/* ---- requests ---- */

/* Subtracts a margin, because a scraper discards a response that completes after its timeout. */
guint scrapes_deadline_ms(const char *header, guint default_ms)
{
	char *end = NULL;
	double seconds = header ? g_ascii_strtod(header, &end) : 0;

	if (!header || end == header || *end || !isfinite(seconds) || seconds <= 0)
		return default_ms;
	seconds = CLAMP(seconds, TIMEOUT_MIN_S, TIMEOUT_MAX_S);
	seconds -= MAX(MARGIN_MIN_S, seconds * MARGIN_PER_CENT / 100);
	return (guint)(seconds * 1000);
}

static void scrape_gone(gpointer data)
{
	scrape_free(data);
}

static void get_metrics(RdmadHttpRequest *http, gpointer data)
{
	Scrapes *scrapes = data;
	const char *timeout = rdmad_http_request_header(http, SCRAPES_TIMEOUT_HEADER);
	Scrape *scrape;

	if (scrapes->all.length >= SCRAPES_MAX) {
		rdmad_http_add_header(http, "Retry-After", RETRY_AFTER_TEXT);
		rdmad_http_fail(http, 503, "%u scrapes are in progress already", SCRAPES_MAX);
		return;
	}
	scrape = g_new0(Scrape, 1);
	scrape->scrapes = scrapes;
	scrape->node.data = scrape->queue_node.data = scrape;
	scrape->http = http;
	scrape->began_us = rdmad_now_us();
	scrape->format = negotiate_format(rdmad_http_request_header(http, "Accept"));
	scrape->gzip = negotiate_gzip(rdmad_http_request_header(http, "Accept-Encoding"));
	g_queue_push_tail_link(&scrapes->all, &scrape->node);
	rdmad_http_request_on_gone(http, scrape_gone, scrape);
	scrape->collecting = collector_request(
		scrapes->collector,
		scrapes_deadline_ms(timeout, (guint)(*scrapes->settings)->timeout_ms),
		scrape_collected, scrape);
}

/* ---- life cycle ---- */

Scrapes *scrapes_new(RdmadModule *self, Collector *collector, MetricsSettings *const *settings,
		     GError **error)
{
	Scrapes *scrapes = g_new0(Scrapes, 1);

	scrapes->self = self;
	scrapes->collector = collector;
	scrapes->settings = settings;
	g_queue_init(&scrapes->all);
	g_queue_init(&scrapes->ready);
	g_queue_init(&scrapes->renderings);
	if (rdmad_http_route(rdmad_module_http(self), self, "GET", PATH,
			     RDMAD_HTTP_LOCAL | RDMAD_HTTP_PUBLIC, get_metrics, scrapes, error))
		return scrapes;
	g_free(scrapes);
	return NULL;
}

void scrapes_free(Scrapes *scrapes)
{
	if (!scrapes)
		return;
	rdmad_http_unroute(rdmad_module_http(scrapes->self), "GET", PATH);
	while (scrapes->all.head)
		scrape_fail(scrapes->all.head->data, "the metrics module is ending");
	while (scrapes->renderings.head)
		rendering_free(scrapes->renderings.head->data);
	json_decref(scrapes->last.missing);
	g_free(scrapes);
}

/* ---- status and doctor ---- */

static json_t *time_json(gint64 wall_us)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(wall_us / G_USEC_PER_SEC);
	g_autofree char *text = g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ");

	return json_string(text);
}

json_t *scrapes_status(const Scrapes *scrapes)
{
	const LastScrape *last = &scrapes->last;

	if (!last->wall_us)
		return json_object();
	return json_pack("{s:{s:o, s:f, s:f, s:I, s:I, s:I}, s:O}", "last_scrape", "time",
			 time_json(last->wall_us), "seconds", last->seconds, "collection",
			 last->collection, "series", (json_int_t)last->series, "bytes",
			 (json_int_t)last->bytes, "devices", (json_int_t)last->devices, "missing",
			 last->missing);
}

void scrapes_doctor(const Scrapes *scrapes, json_t *findings)
{
	const json_t *device;
	size_t i;

	json_array_foreach(scrapes->last.missing, i, device)
	{
		g_autofree char *text =
			g_strdup_printf("was not in the last scrape: %s",
					json_string_value(json_object_get(device, "error")));

		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM,
				 json_string_value(json_object_get(device, "device_name")), text,
				 "its driver or firmware is slow or hangs; `devices = \"!NAME\"` "
				 "of the metrics module leaves it out");
	}
}
