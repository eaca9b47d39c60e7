/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client on libcurl: all of rdmad-curl.so */
#include <curl/curl.h>
#include <rdmad/error.h>
#include <rdmad/loop.h>
#include <rdmad/work.h>
#include <string.h>

#include "build-info.h"
#include "http/fetch.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CURL, curl_easy_cleanup)

typedef struct curl_slist Headers;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Headers, curl_slist_free_all)

typedef struct {
	const RdmadFetchSpec *spec;
	const RdmadJob *job;
	GByteArray *body;
	gboolean too_long;
} Transfer;

static size_t body_append(char *bytes, size_t one, size_t n, void *data)
{
	Transfer *transfer = data;

	if (n > transfer->spec->body_max - transfer->body->len) {
		transfer->too_long = TRUE;
		return 0;
	}
	g_byte_array_append(transfer->body, (const guint8 *)bytes, (guint)n);
	return n;
}

static int progress(void *data, curl_off_t all_down, curl_off_t down, curl_off_t all_up,
		    curl_off_t up)
{
	const Transfer *transfer = data;

	return transfer->job && rdmad_job_cancelled(transfer->job);
}

static Headers *headers_make(const RdmadFetchSpec *spec)
{
	Headers *list = NULL;

	for (const char *const *header = spec->headers; header && *header; header++)
		list = curl_slist_append(list, *header);
	return list;
}

/* Sets the options shared by requests of the loop and of workers.  libcurl copies strings. */
static void request_set(CURL *curl, const RdmadFetchSpec *spec, Headers *headers)
{
	curl_easy_setopt(curl, CURLOPT_URL, spec->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	/* libcurl must not use signals, which belong to the daemon; its resolver uses a thread. */
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)spec->connect_timeout_ms);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)spec->timeout_ms);
	if (spec->body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)spec->body_size);
		curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, spec->body);
	}
	if (spec->method)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, spec->method);
	if (spec->ca_file) {
		curl_easy_setopt(curl, CURLOPT_CAINFO, spec->ca_file);
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
		/* libcurl caches CA files by name for a day, and would miss a changed file. */
		curl_easy_setopt(curl, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	}
}

static void options_set(CURL *curl, Transfer *transfer, Headers *headers)
{
	request_set(curl, transfer->spec, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, body_append);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

static RdmadError error_code(CURLcode code, const Transfer *transfer)
{
	if (transfer->too_long)
		return RDMAD_ERROR_LIMIT;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return RDMAD_ERROR_TIMEOUT;
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return RDMAD_ERROR_CANCELLED;
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return RDMAD_ERROR_INVALID;
	return RDMAD_ERROR_UNAVAILABLE;
}

static gboolean transfer_failed(CURLcode code, const Transfer *transfer, const char *why,
				GError **error)
{
	const RdmadError reason = error_code(code, transfer);

	if (reason == RDMAD_ERROR_LIMIT)
		g_set_error(error, RDMAD_ERROR, reason,
			    "%s: a response of more than %" G_GSIZE_FORMAT " bytes",
			    transfer->spec->url, transfer->spec->body_max);
	else
		g_set_error(error, RDMAD_ERROR, reason, "%s: %s", transfer->spec->url,
			    *why ? why : curl_easy_strerror(code));
	return FALSE;
}

static guint retry_after_get(CURL *curl)
{
	curl_off_t seconds = 0;

	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds);
	return (guint)CLAMP(seconds, 0, 24 * 3600);
}

static gboolean curl_fetch(const RdmadFetchSpec *spec, const RdmadJob *job,
			   RdmadFetchResponse *response, GError **error)
{
	g_autoptr(CURL) curl = curl_easy_init();
	g_autoptr(Headers) headers = headers_make(spec);
	g_autoptr(GByteArray) body = g_byte_array_new();
	Transfer transfer = { spec, job, body, FALSE };
	char why[CURL_ERROR_SIZE] = "";
	long status = 0;
	CURLcode code;

	if (!curl)
		return transfer_failed(CURLE_OUT_OF_MEMORY, &transfer, why, error);
	options_set(curl, &transfer, headers);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	code = curl_easy_perform(curl);
	if (code != CURLE_OK)
		return transfer_failed(code, &transfer, why, error);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	response->status = (guint)status;
	response->retry_after_s = retry_after_get(curl);
	response->size = body->len;
	g_byte_array_append(body, (const guint8 *)"", 1);
	response->body = (char *)g_byte_array_free(g_steal_pointer(&body), FALSE);
	return TRUE;
}

static gboolean curl_init(GError **error)
{
	const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);

	if (code != CURLE_OK)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "libcurl: %s",
			    curl_easy_strerror(code));
	return code == CURLE_OK;
}

/* ---- requests of the loop ---- */

/* libcurl's multi_socket interface on rdmad's loop. */
struct HttpFetchLoop {
	RdmadLoop *loop;
	CURLM *multi;
	RdmadEvent *timer;    /* set by libcurl */
	RdmadEvent *deferred; /* runs the calls that libcurl forbids inside its callbacks */
	GQueue transfers;
	gboolean in_libcurl; /* a libcurl function is on the stack */
};

struct HttpTransfer {
	HttpFetchLoop *loop;
	GList node;
	CURL *curl;
	Headers *headers;
	char why[CURL_ERROR_SIZE];
	char *url;
	gboolean added;
	const HttpTransferClass *klass; /* NULL: cancelled */
	gpointer data;
};

static void transfer_free(HttpTransfer *transfer)
{
	if (transfer->added)
		curl_multi_remove_handle(transfer->loop->multi, transfer->curl);
	g_queue_unlink(&transfer->loop->transfers, &transfer->node);
	curl_easy_cleanup(transfer->curl);
	curl_slist_free_all(transfer->headers);
	g_free(transfer->url);
	g_free(transfer);
}

static size_t transfer_receive(char *bytes, size_t one, size_t n, void *data)
{
	HttpTransfer *transfer = data;
	long status = 0;

	if (!transfer->klass)
		return 0;
	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	return transfer->klass->bytes((guint)status, bytes, n, transfer->data) ? n : 0;
}

/* libcurl passes one header line a call; the last line is empty. */
static size_t transfer_header(char *bytes, size_t one, size_t n, void *data)
{
	HttpTransfer *transfer = data;
	long status = 0;

	if (!transfer->klass)
		return 0;
	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	if (n > 0 && (bytes[0] == '\r' || bytes[0] == '\n'))
		transfer->klass->begun((guint)status, transfer->data);
	return transfer->klass ? n : 0;
}

/* Frees the transfer, then reports its end. */
static void transfer_end(HttpTransfer *transfer, const GError *error)
{
	const HttpTransferClass *klass = transfer->klass;
	const gpointer data = transfer->data;
	const guint retry_after_s = retry_after_get(transfer->curl);
	long status = 0;

	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	transfer_free(transfer);
	if (klass)
		klass->done((guint)status, retry_after_s, error, data);
}

static void transfer_finished(HttpTransfer *transfer, CURLcode code)
{
	const Transfer whole = { NULL, NULL, NULL, FALSE };
	g_autoptr(GError) error = NULL;

	if (code != CURLE_OK)
		error = g_error_new(RDMAD_ERROR, error_code(code, &whole), "%s: %s", transfer->url,
				    *transfer->why ? transfer->why : curl_easy_strerror(code));
	transfer_end(transfer, error);
}

static void finished_handle(HttpFetchLoop *loop)
{
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(loop->multi, &left))) {
		HttpTransfer *transfer = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		transfer_finished(transfer, message->data.result);
	}
}

static void loop_run_action(HttpFetchLoop *loop, curl_socket_t fd, int ready)
{
	int running;

	loop->in_libcurl = TRUE;
	curl_multi_socket_action(loop->multi, fd, ready, &running);
	loop->in_libcurl = FALSE;
	finished_handle(loop);
}

static void timer_fired(gpointer data)
{
	loop_run_action(data, CURL_SOCKET_TIMEOUT, 0);
}

static int timer_set(CURLM *multi, long timeout_ms, void *data)
{
	HttpFetchLoop *loop = data;

	if (timeout_ms < 0)
		rdmad_event_disarm(loop->timer);
	else
		rdmad_event_arm(loop->timer, (guint)timeout_ms);
	return 0;
}

static void socket_ready(int fd, RdmadIo ready, gpointer data)
{
	loop_run_action(data, fd,
			(ready & RDMAD_IO_READ ? CURL_CSELECT_IN : 0) |
				(ready & RDMAD_IO_WRITE ? CURL_CSELECT_OUT : 0));
}

static int socket_set(CURL *curl, curl_socket_t fd, int what, void *data, void *assigned)
{
	HttpFetchLoop *loop = data;
	RdmadEvent *event = assigned;
	const RdmadIo want = (what & CURL_POLL_IN ? RDMAD_IO_READ : 0) |
			     (what & CURL_POLL_OUT ? RDMAD_IO_WRITE : 0);

	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(loop->multi, fd, NULL);
		rdmad_event_free(event);
		return 0;
	}
	if (event)
		return rdmad_event_want(event, want) ? 0 : -1;
	event = rdmad_loop_add_io(loop->loop, NULL, fd, want, socket_ready, loop, NULL);
	if (!event)
		return -1;
	curl_multi_assign(loop->multi, fd, event);
	return 0;
}

static void transfer_begin(HttpTransfer *transfer)
{
	const CURLMcode code = curl_multi_add_handle(transfer->loop->multi, transfer->curl);
	g_autoptr(GError) error = NULL;

	transfer->added = code == CURLM_OK;
	if (transfer->added)
		return;
	error = g_error_new(RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE, "%s: %s", transfer->url,
			    curl_multi_strerror(code));
	transfer_end(transfer, error);
}

/* Searches from the start each time, because callbacks change the list. */
static HttpTransfer *transfer_find_deferred(HttpFetchLoop *loop)
{
	for (GList *l = loop->transfers.head; l; l = l->next) {
		HttpTransfer *transfer = l->data;

		if (!transfer->added || !transfer->klass)
			return transfer;
	}
	return NULL;
}

static void deferred_run(gpointer data)
{
	HttpFetchLoop *loop = data;
	HttpTransfer *transfer;

	while ((transfer = transfer_find_deferred(loop))) {
		if (transfer->klass)
			transfer_begin(transfer);
		else
			transfer_free(transfer);
	}
}

static void transfer_options_set(HttpTransfer *transfer, const RdmadFetchSpec *spec)
{
	CURL *curl = transfer->curl;

	transfer->headers = headers_make(spec);
	request_set(curl, spec, transfer->headers);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->why);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, transfer_receive);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, transfer_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_PRIVATE, transfer);
	/* HTTP/1.1 has one request on a connection: a hanging request blocks no other, and
	 * cancelling it closes its connection. */
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 30L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 10L);
	/* Without it, cleanup blocks the loop until the resolver's thread ends. */
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
}

static HttpTransfer *curl_start(HttpFetchLoop *loop, const RdmadFetchSpec *spec,
				const HttpTransferClass *klass, gpointer data, GError **error)
{
	CURL *curl = curl_easy_init();
	HttpTransfer *transfer;

	if (!curl) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE, "%s: no memory",
			    spec->url);
		return NULL;
	}
	transfer = g_new0(HttpTransfer, 1);
	transfer->loop = loop;
	transfer->curl = curl;
	transfer->url = g_strdup(spec->url);
	transfer->klass = klass;
	transfer->data = data;
	transfer_options_set(transfer, spec);
	transfer->node.data = transfer;
	g_queue_push_tail_link(&loop->transfers, &transfer->node);
	rdmad_event_arm(loop->deferred, 0);
	return transfer;
}

static void curl_cancel(HttpTransfer *transfer)
{
	if (!transfer->loop->in_libcurl) {
		transfer_free(transfer);
		return;
	}
	transfer->klass = NULL;
	rdmad_event_arm(transfer->loop->deferred, 0);
}

static HttpFetchLoop *curl_loop_new(RdmadLoop *on, GError **error)
{
	CURLM *multi = curl_multi_init();
	HttpFetchLoop *loop;

	if (!multi) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE, "libcurl: no memory");
		return NULL;
	}
	loop = g_new0(HttpFetchLoop, 1);
	loop->loop = on;
	loop->multi = multi;
	loop->timer = rdmad_loop_add_timer(on, NULL, timer_fired, loop);
	loop->deferred = rdmad_loop_add_timer(on, NULL, deferred_run, loop);
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_set);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, loop);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_set);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, loop);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 4L);
	return loop;
}

static void curl_loop_free(HttpFetchLoop *loop)
{
	while (loop->transfers.head)
		transfer_free(loop->transfers.head->data);
	curl_multi_cleanup(loop->multi);
	rdmad_event_free(loop->timer);
	rdmad_event_free(loop->deferred);
	g_free(loop);
}

RDMAD_API extern const RdmadFetcher rdmad_http_curl;
const RdmadFetcher rdmad_http_curl = {
	.part = { RDMAD_VERSION },
	.init = curl_init,
	.fetch = curl_fetch,
	.loop_new = curl_loop_new,
	.loop_free = curl_loop_free,
	.start = curl_start,
	.cancel = curl_cancel,
};
