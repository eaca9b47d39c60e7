/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP client: a request, and its whole response or the lines of an endless one
 *
 * Only rdmad-curl.so, beside the modules, is linked with libcurl.  The first rdmad_fetcher_get()
 * loads it. Redirects are not followed, and proxies of the environment are not used.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	const char *method;	    /* NULL: "GET" */
	const char *url;	    /* http:// or https:// */
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	/* The first is of the connection, 0: libcurl's default, 300 s; the second of the whole
	 * request, 0: none. */
	guint connect_timeout_ms, timeout_ms;
	guint quiet_ms;	  /* rdmad_fetch_start(): maximum time without a line, or without a byte if
			   * `line` is NULL; 0: none */
	gsize body_max;	  /* maximum of the response, or of each of its lines */
	const void *body; /* body of the request; NULL: none */
	gsize body_size;
	const char *ca_file; /* PEM, read for each connection; NULL: the system's */
} RdmadFetchSpec;

typedef struct {
	guint status; /* 200, 404, ... */
	char *body;   /* followed by a NUL; g_free() */
	gsize size;
	guint retry_after_s; /* the header Retry-After; 0: none */
} RdmadFetchResponse;

/* Returns the fetcher, valid until the process ends.  For the loop.  RDMAD_ERROR_NOT_FOUND:
 * rdmad-curl.so or libcurl is not installed; RDMAD_ERROR_ABI: rdmad-curl.so is of another rdmad. */
RDMAD_API const RdmadFetcher *rdmad_fetcher_get(RdmadHttp *http, GError **error);

/*
 * Blocks: call it from the `run` of a job (work.h).  Returns TRUE if there is a response, whatever
 * its status.  RDMAD_ERROR_TIMEOUT; RDMAD_ERROR_LIMIT: the body is longer than `body_max`;
 * RDMAD_ERROR_CANCELLED: `job` (may be NULL) was cancelled; RDMAD_ERROR_INVALID: invalid URL;
 * RDMAD_ERROR_UNAVAILABLE: no connection, or it ended early.
 */
RDMAD_API gboolean rdmad_fetch(const RdmadFetcher *fetcher, const RdmadFetchSpec *spec,
			       const RdmadJob *job, RdmadFetchResponse *response, GError **error);

typedef struct {
	/* Called for each line of a response with the status 200, with a NUL for its newline.
	 * NULL: `done` gets the body.  May call rdmad_fetch_cancel(). */
	void (*line)(const char *line, gsize length, gpointer data);
	/* Called once, after the request was freed.  `error` is an error of rdmad_fetch(), and
	 * `response` then NULL.  The body of `response` is borrowed, and empty if `line` got it. */
	void (*done)(const RdmadFetchResponse *response, const GError *error, gpointer data);
	/* Called when a response with the status 200 begins, perhaps long before its first line.
	 * May be NULL; may call rdmad_fetch_cancel(). */
	void (*begun)(gpointer data);
} RdmadFetchClass;

/*
 * Starts a request on the loop, which calls the callbacks, never before this function returns.
 * `spec` is copied with everything that it points to; `klass` must outlive the request.  Errors are
 * those of rdmad_fetcher_get().
 */
RDMAD_API RdmadFetch *rdmad_fetch_start(RdmadHttp *http, RdmadModule *owner,
					const RdmadFetchSpec *spec, const RdmadFetchClass *klass,
					gpointer data, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Cancels all callbacks and frees the request.  Does nothing if `fetch` is NULL. */
RDMAD_API void rdmad_fetch_cancel(RdmadFetch *fetch);
