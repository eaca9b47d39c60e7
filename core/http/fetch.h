/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of rdmad-curl.so
 *
 * libcurl and its dependencies take 3 MiB, and few nodes make HTTP requests.
 */
#pragma once

#include <rdmad/fetch.h>

#include "base/part.h"

/* The requests of one loop.  Workers make requests without it. */
typedef struct HttpFetchLoop HttpFetchLoop;
typedef struct HttpTransfer HttpTransfer;

typedef struct {
	/* Returning FALSE ends the transfer; `done` gets an error. */
	gboolean (*bytes)(guint status, const char *bytes, gsize n, gpointer data);
	void (*done)(guint status, guint retry_after_s, const GError *error, gpointer data);
	void (*begun)(guint status, gpointer data); /* the headers are complete */
} HttpTransferClass;

struct RdmadFetcher {
	RdmadPart part;
	/* Called once, on the loop. */
	gboolean (*init)(GError **error);
	gboolean (*fetch)(const RdmadFetchSpec *spec, const RdmadJob *job,
			  RdmadFetchResponse *response, GError **error);

	HttpFetchLoop *(*loop_new)(RdmadLoop *loop, GError **error);
	void (*loop_free)(HttpFetchLoop *loop);
	HttpTransfer *(*start)(HttpFetchLoop *loop, const RdmadFetchSpec *spec,
			       const HttpTransferClass *klass, gpointer data, GError **error);
	void (*cancel)(HttpTransfer *transfer);
};

/* Cancels running requests. */
void http_fetch_end(RdmadHttp *http);

#define HTTP_CURL_OBJECT "rdmad-curl"
#define HTTP_CURL_SYMBOL "rdmad_http_curl"
