/* SPDX-License-Identifier: Apache-2.0 */
#include "http/fetch.h"

#include <rdmad/error.h>

#include "build-info.h"
#include "http/server.h"

const RdmadFetcher *rdmad_fetcher_get(RdmadHttp *http, GError **error)
{
	const RdmadFetcher *fetcher;

	if (http->fetcher)
		return http->fetcher;
	fetcher = http->load(HTTP_CURL_OBJECT, HTTP_CURL_SYMBOL, http->load_data, error);
	if (!fetcher)
		return NULL;
	if (g_strcmp0(fetcher->version, RDMAD_VERSION)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_ABI,
			    HTTP_CURL_OBJECT ".so is of another rdmad than " RDMAD_VERSION
					     "; install the one that came with it");
		return NULL;
	}
	if (!fetcher->init(error))
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
