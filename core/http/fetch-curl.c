/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client by libcurl: the whole of rdmad-curl.so. */
#include <curl/curl.h>
#include <rdmad/error.h>
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

static size_t body_take(char *bytes, size_t one, size_t n, void *data)
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

static void options_set(CURL *curl, Transfer *transfer, Headers *headers)
{
	const RdmadFetchSpec *spec = transfer->spec;

	curl_easy_setopt(curl, CURLOPT_URL, spec->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (spec->method)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, spec->method);
	/* Signals are the daemon's; without them the resolver has a thread of its own. */
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)spec->connect_timeout_ms);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)spec->timeout_ms);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, body_take);
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

RDMAD_API extern const RdmadFetcher rdmad_http_curl;
const RdmadFetcher rdmad_http_curl = { RDMAD_VERSION, curl_init, curl_fetch };
