/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes of the API
 *
 * Read-only resources without secrets are public, for the status page.  TCP listeners serve them to
 * every client, unless a web configuration requires authentication.
 */
#include "api/api.h"

#include "api/json.h"
#include "http/http.h"

#define ROOT   "/api/v1"
#define PREFIX ROOT "/"
#define PUBLIC (RDMAD_HTTP_LOCAL | RDMAD_HTTP_PUBLIC)

static void add_route(const char *method, const char *path, RdmadHttpScope scope, gpointer data)
{
	if (g_str_has_prefix(path, PREFIX))
		json_array_append_new(data,
				      json_pack("{s:s, s:s, s:b}", "method", method, "path", path,
						"public", (scope & RDMAD_HTTP_PUBLIC) != 0));
}

/* Lists the resources offered by the client's listener. */
static void get_resources(RdmadHttpRequest *request, gpointer data)
{
	json_t *resources = json_array();

	rdmad_http_foreach_route(request, add_route, resources);
	rdmad_http_reply_json(request, json_pack("{s:o}", "resources", resources));
}

static const struct {
	const char *method, *path;
	RdmadHttpScope scope;
	RdmadHttpHandler handler;
} api_routes[] = {
	{ "GET", ROOT, PUBLIC, get_resources },
	{ "GET", PREFIX "status", PUBLIC, api_get_status },
	{ "GET", PREFIX "devices", PUBLIC, api_get_devices },
	{ "GET", PREFIX "devices/*", PUBLIC, api_get_device },
	{ "GET", PREFIX "allocations", PUBLIC, api_get_allocations },
	{ "GET", PREFIX "topology", PUBLIC, api_get_topology },
	{ "GET", PREFIX "events", PUBLIC, api_get_events },
	{ "GET", PREFIX "attributes", RDMAD_HTTP_LOCAL, api_get_attributes },
	{ "GET", PREFIX "attributes/*", RDMAD_HTTP_LOCAL, api_get_attribute },
	{ "PUT", PREFIX "attributes/*", RDMAD_HTTP_LOCAL, api_put_attribute },
	{ "DELETE", PREFIX "attributes/*", RDMAD_HTTP_LOCAL, api_delete_attribute },
	{ "GET", PREFIX "commands", RDMAD_HTTP_LOCAL, api_get_commands },
	{ "GET", PREFIX "doctor", PUBLIC, api_get_doctor },
	{ "GET", "/livez", PUBLIC, api_get_livez },
	{ "GET", "/healthz", PUBLIC, api_get_livez },
	{ "GET", "/readyz", PUBLIC, api_get_readyz },
	{ "POST", PREFIX "rescan", RDMAD_HTTP_LOCAL, api_post_rescan },
	{ "POST", PREFIX "allocations/refresh", RDMAD_HTTP_LOCAL, api_post_refresh },
};

gboolean rdmad_api_start(RdmadServices *services, GError **error)
{
	services->api = rdmad_api_new(services);
	for (gsize i = 0; i < G_N_ELEMENTS(api_routes); i++)
		if (!rdmad_http_route(services->http, NULL, api_routes[i].method,
				      api_routes[i].path, api_routes[i].scope,
				      api_routes[i].handler, services, error))
			return FALSE;
	return TRUE;
}
