/* SPDX-License-Identifier: Apache-2.0 */
#include "fetcher.h"

#include <rdmad/error.h>
#include <rdmad/loop.h>
#include <string.h>

#include "apiserver.h"
#include "clock.h"
#include "http/fetch.h"
#include "http/http.h"
#include "life.h"
#include "metadata.h"

#define BOOKMARK_MS 60000u

/* The time that a response takes. */
static const guint takes_ms[] = { 2, 0, 50, 3000 };

struct HttpFetchLoop {
	RdmadLoop *loop;
	GQueue transfers;
};

struct HttpTransfer {
	HttpFetchLoop *loop;
	GList node;
	const HttpTransferClass *klass; /* NULL: cancelled by its own callback */
	gpointer data;
	ApiResponse response;
	RdmadEvent *event;
	gint64 ends_us; /* of a watch */
	gboolean is_begun;
	gboolean is_silent; /* nothing comes any more */
	gboolean is_called; /* a callback runs */
};

static struct {
	Decisions *decisions;
	HttpFetchLoop *last; /* of the rdmad that runs */
} fetcher;

/* ---- transfers ---- */

static void transfer_free(HttpTransfer *transfer)
{
	g_queue_unlink(&transfer->loop->transfers, &transfer->node);
	rdmad_event_free(transfer->event);
	g_free(transfer->response.body);
	g_free(transfer);
}

/* Frees the transfer, then reports its end. */
static void transfer_end(HttpTransfer *transfer, guint status, const GError *error)
{
	const HttpTransferClass *klass = transfer->klass;
	const gpointer data = transfer->data;
	const guint retry_after_s = transfer->response.retry_after_s;

	transfer_free(transfer);
	klass->done(status, retry_after_s, error, data);
}

static void transfer_fail(HttpTransfer *transfer, RdmadError code)
{
	g_autoptr(GError) error = g_error_new(RDMAD_ERROR, code, "the API server does not answer");

	transfer_end(transfer, transfer->is_begun ? 200 : 0, error);
}

/* Call after a callback.  Returns FALSE if it has cancelled the transfer, which is then freed. */
static gboolean transfer_goes_on(HttpTransfer *transfer)
{
	transfer->is_called = FALSE;
	if (transfer->klass)
		return TRUE;
	transfer_free(transfer);
	return FALSE;
}

/* Returns FALSE if there is no transfer any more. */
static gboolean transfer_send(HttpTransfer *transfer, const char *text)
{
	transfer->is_called = TRUE;
	transfer->klass->bytes(transfer->response.status, text, strlen(text), transfer->data);
	return transfer_goes_on(transfer);
}

static gboolean watch_begin(HttpTransfer *transfer)
{
	if (transfer->is_begun)
		return TRUE;
	transfer->is_begun = transfer->is_called = TRUE;
	transfer->klass->begun(200, transfer->data);
	return transfer_goes_on(transfer);
}

static void watch_go_on(HttpTransfer *transfer)
{
	const gboolean was_begun = transfer->is_begun;
	g_autofree char *lines = apiserver_lines(&transfer->response);

	if (!watch_begin(transfer))
		return;
	if (!lines && was_begun && clock_now_us() < transfer->ends_us)
		lines = apiserver_bookmark();
	if (lines && !transfer_send(transfer, lines))
		return;
	if (clock_now_us() >= transfer->ends_us)
		transfer_end(transfer, 200, NULL);
	else
		rdmad_event_arm(transfer->event,
				MIN(BOOKMARK_MS,
				    (guint)((transfer->ends_us - clock_now_us()) / SIM_MS) + 1));
}

static void transfer_due(gpointer data)
{
	HttpTransfer *transfer = data;
	const ApiResponse *response = &transfer->response;

	if (transfer->is_silent)
		transfer_fail(transfer, RDMAD_ERROR_TIMEOUT);
	else if (!response->status)
		transfer_fail(transfer, RDMAD_ERROR_UNAVAILABLE);
	else if (response->watch_s)
		watch_go_on(transfer);
	else if (transfer_send(transfer, response->body))
		transfer_end(transfer, response->status, NULL);
}

/* ---- the fetcher ---- */

static gboolean init(GError **error)
{
	return TRUE;
}

static HttpFetchLoop *loop_new(RdmadLoop *on, GError **error)
{
	HttpFetchLoop *loop = g_new0(HttpFetchLoop, 1);

	loop->loop = on;
	fetcher.last = loop;
	return loop;
}

static void loop_free(HttpFetchLoop *loop)
{
	while (loop->transfers.head)
		transfer_free(loop->transfers.head->data);
	if (fetcher.last == loop)
		fetcher.last = NULL;
	g_free(loop);
}

static HttpTransfer *start(HttpFetchLoop *loop, const RdmadFetchSpec *spec,
			   const HttpTransferClass *klass, gpointer data, GError **error)
{
	const guint how = decide_rarely(fetcher.decisions, DECIDE_CLOUD, 4, G_N_ELEMENTS(takes_ms));
	HttpTransfer *transfer = g_new0(HttpTransfer, 1);

	transfer->loop = loop;
	transfer->node.data = transfer;
	transfer->klass = klass;
	transfer->data = data;
	if (life_effect())
		apiserver_ask(spec, &transfer->response);
	else
		transfer->response.is_lost = TRUE;
	decisions_note(fetcher.decisions, "%s %s %u", spec->method, spec->url,
		       transfer->response.status);
	transfer->is_silent = transfer->response.is_lost;
	transfer->ends_us = clock_now_us() + transfer->response.watch_s * SIM_S;
	transfer->event = rdmad_loop_add_timer(loop->loop, NULL, transfer_due, transfer);
	rdmad_event_arm(transfer->event, transfer->is_silent ? spec->timeout_ms : takes_ms[how]);
	g_queue_push_tail_link(&loop->transfers, &transfer->node);
	return transfer;
}

static void cancel(HttpTransfer *transfer)
{
	if (transfer->is_called)
		transfer->klass = NULL;
	else
		transfer_free(transfer);
}

static const RdmadFetcher the_fetcher = {
	.init = init,
	.fetch = metadata_fetch,
	.loop_new = loop_new,
	.loop_free = loop_free,
	.start = start,
	.cancel = cancel,
};

/* ---- replaced function ---- */

static gconstpointer load(const char *object, const char *symbol, gpointer data, GError **error)
{
	g_assert_cmpstr(symbol, ==, HTTP_CURL_SYMBOL);
	return &the_fetcher;
}

void __real_rdmad_http_set_helpers(RdmadHttp *http, RdmadWorkers *workers, RdmadHttpLoad loads,
				   gpointer data);
void __wrap_rdmad_http_set_helpers(RdmadHttp *http, RdmadWorkers *workers, RdmadHttpLoad loads,
				   gpointer data);
void __wrap_rdmad_http_set_helpers(RdmadHttp *http, RdmadWorkers *workers, RdmadHttpLoad loads,
				   gpointer data)
{
	__real_rdmad_http_set_helpers(http, workers, load, NULL);
}

/* ---- functions for the world ---- */

void fetcher_begin(Decisions *decisions)
{
	fetcher.decisions = decisions;
}

static GList *transfers(void)
{
	return fetcher.last ? fetcher.last->transfers.head : NULL;
}

void fetcher_notify(void)
{
	for (GList *l = transfers(); l; l = l->next) {
		HttpTransfer *transfer = l->data;

		if (transfer->is_begun && !transfer->is_silent)
			rdmad_event_arm(transfer->event, 0);
	}
}

void fetcher_break(void)
{
	for (GList *l = transfers(); l; l = l->next) {
		HttpTransfer *transfer = l->data;

		if (!transfer->is_begun || transfer->is_silent)
			continue;
		if (decide(fetcher.decisions, DECIDE_CLOUD, 2) == 0) {
			transfer->is_silent = TRUE;
			continue;
		}
		transfer->response.status = 0;
		rdmad_event_arm(transfer->event, 0);
	}
}
