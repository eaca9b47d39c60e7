/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rdmad-curl.so gives
 *
 * libcurl and what it needs cost 3 MiB, and few nodes ask anybody anything.
 */
#pragma once

#include <rdmad/fetch.h>

struct RdmadFetcher {
	const char *version; /* of rdmad: nothing else is promised to fit */
	/* Once, on the loop. */
	gboolean (*init)(GError **error);
	gboolean (*fetch)(const RdmadFetchSpec *spec, const RdmadJob *job,
			  RdmadFetchResponse *response, GError **error);
};

#define HTTP_CURL_OBJECT "rdmad-curl"
#define HTTP_CURL_SYMBOL "rdmad_http_curl"
