/* SPDX-License-Identifier: Apache-2.0 */
#include "http/fetch.h"

#include <rdmad/error.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/owned.h"
#include "http/server.h"

struct RdmadFetch {
	RdmadOwned owned;
	const RdmadFetcher *fetcher;
	HttpTransfer *transfer;
	const RdmadFetchClass *klass;
	gpointer data;
	char *url;
	GString *body; /* the body, or an incomplete line */
	gsize body_max;
	gboolean too_long;
	guint quiet_ms;
	RdmadEvent *quiet; /* timer: limit of silence; NULL: no limit */
	gboolean *gone;	   /* set if a callback cancels the request */
};

const RdmadFetcher *rdmad_fetcher_get(RdmadHttp *http, GError **error)
{
	const RdmadFetcher *fetcher;

	if (http->fetcher)
		return http->fetcher;
	fetcher = http->load(HTTP_CURL_OBJECT, HTTP_CURL_SYMBOL, http->load_data, error);
	if (!fetcher || !fetcher->init(error))
		return NULL;
	http->fetcher = fetcher;
	return fetcher;
}

gboolean rdmad_fetch(const RdmadFetcher *fetcher, const RdmadFetchSpec *spec, const RdmadJob *job,
		     RdmadFetchResponse *response, GError **error)
{
	*response = (RdmadFetchResponse){ 0 };
	return fetcher->fetch(spec, job, response, error);
}

static void fetch_free(RdmadFetch *fetch)
{
	rdmad_owned_leave(&fetch->owned);
	if (fetch->gone)
		*fetch->gone = TRUE;
	rdmad_event_free(fetch->quiet);
	g_string_free(fetch->body, TRUE);
	g_free(fetch->url);
	g_free(fetch);
}

/* Only complete lines count: a stream of bytes without a newline must time out. */
static void fetch_is_alive(RdmadFetch *fetch)
{
	if (fetch->quiet)
		rdmad_event_arm(fetch->quiet, fetch->quiet_ms);
}

static gboolean body_append(RdmadFetch *fetch, const char *bytes, gsize n)
{
	if (n > fetch->body_max - fetch->body->len) {
		fetch->too_long = TRUE;
		return FALSE;
	}
	g_string_append_len(fetch->body, bytes, (gssize)n);
	return TRUE;
}

/* Returns TRUE if the callback has cancelled the request. */
static gboolean line_give(RdmadFetch *fetch)
{
	const RdmadFetchClass *klass = fetch->klass;
	GString *line = fetch->body;
	gboolean gone = FALSE;

	fetch_is_alive(fetch);
	fetch->body = g_string_new(NULL);
	fetch->gone = &gone;
	klass->line(line->str, line->len, fetch->data);
	if (!gone)
		fetch->gone = NULL;
	g_string_free(line, TRUE);
	return gone;
}

static gboolean lines_take(RdmadFetch *fetch, const char *bytes, gsize n)
{
	while (n > 0) {
		const char *end = memchr(bytes, '\n', n);
		const gsize part = end ? (gsize)(end - bytes) : n;

		if (!body_append(fetch, bytes, part))
			return FALSE;
		if (!end)
			break;
		if (line_give(fetch))
			return FALSE;
		bytes += part + 1;
		n -= part + 1;
	}
	return TRUE;
}

static gboolean transfer_bytes(guint status, const char *bytes, gsize n, gpointer data)
{
	RdmadFetch *fetch = data;

	if (status == 200 && fetch->klass->line)
		return lines_take(fetch, bytes, n);
	fetch_is_alive(fetch);
	return body_append(fetch, bytes, n);
}

/* Frees the request before the callback. */
static void fetch_finish(RdmadFetch *fetch, guint status, guint retry_after_s, const GError *error)
{
	const RdmadFetchClass *klass = fetch->klass;
	const gpointer data = fetch->data;
	const gboolean in_lines = status == 200 && klass->line;
	const gsize size = in_lines ? 0 : fetch->body->len;
	g_autofree char *body = g_string_free(fetch->body, FALSE);
	const RdmadFetchResponse response = { status, body, size, retry_after_s };

	if (in_lines)
		body[0] = '\0';
	fetch->body = g_string_new(NULL);
	fetch_free(fetch);
	klass->done(error ? NULL : &response, error, data);
}

static void transfer_done(guint status, guint retry_after_s, const GError *error, gpointer data)
{
	RdmadFetch *fetch = data;
	g_autoptr(GError) limit = NULL;

	fetch->transfer = NULL;
	/* The last line may have no newline. */
	if (!error && status == 200 && fetch->klass->line && fetch->body->len && line_give(fetch))
		return;
	if (fetch->too_long)
		limit = g_error_new(RDMAD_ERROR, RDMAD_ERROR_LIMIT,
				    "%s: more than %" G_GSIZE_FORMAT " bytes", fetch->url,
				    fetch->body_max);
	fetch_finish(fetch, status, retry_after_s, limit ? limit : error);
}

static void fetch_quiet(gpointer data)
{
	RdmadFetch *fetch = data;
	g_autoptr(GError) error =
		g_error_new(RDMAD_ERROR, RDMAD_ERROR_TIMEOUT, "%s: %s came for %u ms", fetch->url,
			    fetch->klass->line ? "no line" : "nothing", fetch->quiet_ms);

	fetch->fetcher->cancel(g_steal_pointer(&fetch->transfer));
	fetch_finish(fetch, 0, 0, error);
}

static void transfer_begun(guint status, gpointer data)
{
	const RdmadFetch *fetch = data;

	if (status == 200 && fetch->klass->begun)
		fetch->klass->begun(fetch->data);
}

static const HttpTransferClass transfer_class = { transfer_bytes, transfer_done, transfer_begun };

void rdmad_fetch_cancel(RdmadFetch *fetch)
{
	if (!fetch)
		return;
	if (fetch->transfer)
		fetch->fetcher->cancel(fetch->transfer);
	fetch_free(fetch);
}

static void fetch_reap(gpointer fetch)
{
	rdmad_fetch_cancel(fetch);
}

RdmadFetch *rdmad_fetch_start(RdmadHttp *http, RdmadModule *owner, const RdmadFetchSpec *spec,
			      const RdmadFetchClass *klass, gpointer data, GError **error)
{
	const RdmadFetcher *fetcher = rdmad_fetcher_get(http, error);
	RdmadFetch *fetch;

	if (!fetcher)
		return NULL;
	if (!http->fetch_loop)
		http->fetch_loop = fetcher->loop_new(http->loop, error);
	if (!http->fetch_loop)
		return NULL;
	fetch = g_new0(RdmadFetch, 1);
	fetch->fetcher = fetcher;
	fetch->klass = klass;
	fetch->data = data;
	fetch->url = g_strdup(spec->url);
	fetch->body = g_string_new(NULL);
	fetch->body_max = spec->body_max;
	fetch->quiet_ms = spec->quiet_ms;
	rdmad_owned_enter(&fetch->owned, http->loop, owner, fetch_reap, fetch);
	fetch->transfer = fetcher->start(http->fetch_loop, spec, &transfer_class, fetch, error);
	if (!fetch->transfer) {
		fetch_free(fetch);
		return NULL;
	}
	if (fetch->quiet_ms)
		fetch->quiet = rdmad_loop_add_timer(http->loop, NULL, fetch_quiet, fetch);
	fetch_is_alive(fetch);
	return fetch;
}

void http_fetch_end(RdmadHttp *http)
{
	if (http->fetch_loop)
		http->fetcher->loop_free(g_steal_pointer(&http->fetch_loop));
}
