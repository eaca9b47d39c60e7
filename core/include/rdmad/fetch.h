/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP client: one request, and its whole response
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
	guint connect_timeout_ms, timeout_ms; /* the second: of the whole */
	gsize body_max;
} RdmadFetchSpec;

typedef struct {
	guint status; /* 200, 404, ... */
	char *body;   /* with a NUL behind it; g_free() */
	gsize size;
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
