/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP client: one request, and its whole response or the lines of one that does not end
 *
 * libcurl is in a shared object of its own (rdmad-curl.so beside the modules), which is loaded by the first
 * rdmad_fetcher_get().  Redirects are not followed, and the proxies of the environment are not used.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *method;		      /* NULL: "GET" */
	const char *url;		      /* http:// or https:// */
	const char *const *headers;	      /* "Name: value", NULL-terminated; may be NULL */
	guint connect_timeout_ms, timeout_ms; /* the second: of the whole; 0: none */
	guint quiet_ms;	  /* rdmad_fetch_start(): the longest time without a byte, or without a line
			   * where it is given in lines; 0: any */
	gsize body_max;	  /* of the response, or of each of its lines */
	const void *body; /* of the request; NULL: none */
	gsize body_size;
	const char *ca_file; /* PEM, read for each connection; NULL: the system's */
} RdmadFetchSpec;

typedef struct {
	guint status; /* 200, 404, ... */
	char *body;   /* with a NUL behind it; g_free() */
	gsize size;
	guint retry_after_s; /* the header Retry-After; 0: none */
} RdmadFetchResponse;

/* On the loop.  Valid until the process ends.  RDMAD_ERROR_NOT_FOUND: rdmad-curl.so or libcurl is not
 * installed; RDMAD_ERROR_ABI: it is of another rdmad. */
RDMAD_API const RdmadFetcher *rdmad_fetcher_get(RdmadHttp *http, GError **error);

/*
 * Blocks: call it from the `run` of a job (work.h); it ends early when `job` (may be NULL) is cancelled.
 * TRUE: there is a response, whatever its status.  RDMAD_ERROR_TIMEOUT; RDMAD_ERROR_LIMIT: more than
 * `body_max`; RDMAD_ERROR_CANCELLED; RDMAD_ERROR_INVALID: the URL; RDMAD_ERROR_UNAVAILABLE: no connection,
 * or one that ended early.
 */
RDMAD_API gboolean rdmad_fetch(const RdmadFetcher *fetcher, const RdmadFetchSpec *spec,
			       const RdmadJob *job, RdmadFetchResponse *response, GError **error);

typedef struct {
	/* Called for each line of a response with the status 200, without its end and with a NUL in its
	 * place.  NULL: `done` gets the body.  May call rdmad_fetch_cancel(). */
	void (*line)(const char *line, gsize length, gpointer data);
	/* Called once; the request is gone before it.  `error` is as of rdmad_fetch(), `response` NULL
	 * then; its body is borrowed, and empty if it was given in lines. */
	void (*done)(const RdmadFetchResponse *response, const GError *error, gpointer data);
	/* Called when a response with the status 200 begins: its first line may be long in coming.  May be
	 * NULL; may call rdmad_fetch_cancel(). */
	void (*begun)(gpointer data);
} RdmadFetchClass;

/*
 * The same without a thread: the callbacks come from the loop, and never before this returns.  What `spec`
 * points at is copied, `klass` must outlive the request.  NULL: errors of rdmad_fetcher_get().
 */
RDMAD_API RdmadFetch *rdmad_fetch_start(RdmadHttp *http, RdmadModule *owner,
					const RdmadFetchSpec *spec, const RdmadFetchClass *klass,
					gpointer data, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Neither callback comes after it.  NULL is fine. */
RDMAD_API void rdmad_fetch_cancel(RdmadFetch *fetch);
