/* SPDX-License-Identifier: Apache-2.0 */
#include "page/page.h"

#include <jansson.h>
#include <rdmad/clock.h>
#include <rdmad/http.h>
#include <rdmad/module.h>
#include <string.h>

#include "page/files.h"
#include "traffic/route.h"

/* Nothing is loaded from other hosts; no document has an inline script or style. */
#define CSP                                                                                        \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct Page {
	RdmadModule *self;
	Collector *collector;
	Traffic *traffic;
	TrafficRoute *route;
	guint routed; /* number of registered page_files */
};

/* If-None-Match is a list, and a proxy may have made a tag weak, so the tag is searched as a
 * substring. */
static gboolean client_has(RdmadHttpRequest *request, const PageFile *file)
{
	const char *tags = rdmad_http_request_header(request, "If-None-Match");

	return tags && strstr(tags, file->etag);
}

static void get_file(RdmadHttpRequest *request, gpointer data)
{
	const PageFile *file = data;

	rdmad_http_add_header(request, "Content-Security-Policy", CSP);
	rdmad_http_add_header(request, "Cache-Control", "no-cache");
	rdmad_http_add_header(request, "ETag", file->etag);
	if (client_has(request, file))
		rdmad_http_reply(request, 304, NULL, NULL, 0);
	else
		rdmad_http_reply(request, 200, file->content_type, file->data, file->size);
}

static gboolean page_route(Page *page, GError **error)
{
	RdmadHttp *http = rdmad_module_http(page->self);

	for (; page->routed < n_page_files; page->routed++) {
		const PageFile *file = &page_files[page->routed];

		if (!rdmad_http_route(http, page->self, "GET", file->path,
				      RDMAD_HTTP_LOCAL | RDMAD_HTTP_PUBLIC, get_file,
				      (gpointer)file, error))
			return FALSE;
	}
	page->route = traffic_route_new(page->self, page->collector, page->traffic, error);
	return page->route != NULL;
}

static void sample_received(const DeviceSample *sample, gpointer data)
{
	Page *page = data;

	traffic_take(page->traffic, sample, rdmad_now_us());
}

Page *page_new(RdmadModule *self, Collector *collector, GError **error)
{
	Page *page = g_new0(Page, 1);

	page->self = self;
	page->collector = collector;
	page->traffic = traffic_new();
	if (!page_route(page, error)) {
		page_free(page);
		return NULL;
	}
	collector_watch(collector, sample_received, page);
	return page;
}

void page_doctor(const Page *page, json_t *findings)
{
	traffic_doctor(page->traffic, rdmad_now_us(), findings);
}

void page_free(Page *page)
{
	if (!page)
		return;
	traffic_route_free(page->route);
	for (guint i = 0; i < page->routed; i++)
		rdmad_http_unroute(rdmad_module_http(page->self), "GET", page_files[i].path);
	collector_watch(page->collector, NULL, NULL);
	traffic_free(page->traffic);
	g_free(page);
}
