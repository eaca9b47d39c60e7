/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: routes and listeners
 *
 * Why own code: evhttp can cap neither connections nor the time of a whole request, and its parser
 * and AF_UNIX side had several CVEs; libmicrohttpd brings gnutls.  Measured over GLib and
 * libevent_core after one request, PSS: evhttp +0.2 MiB, libmicrohttpd +1.7 to 2.8 MiB, this with
 * jansson +0.15 MiB; the whole idle daemon may have 6 MiB.
 */
#define RDMAD_LOG_TOPIC "http"

#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <string.h>

#include "http/address.h"
#include "http/fetch.h"
#include "http/server.h"

/* The age of an unread response that is closed when the memory for responses is used up.  Probes of
 * kubelet, which take a second at most, wait behind it. */
#define UNREAD_US (500 * G_TIME_SPAN_MILLISECOND)

static void route_free(gpointer data)
{
	HttpRoute *route = data;

	g_free(route->method);
	g_free(route->path);
	g_free(route);
}

static void listener_free(gpointer data)
{
	http_listener_free(data);
}

static gsize http_unsent(const RdmadHttp *http)
{
	gsize size = 0;

	for (guint i = 0; i < http->listeners->len; i++)
		size += http_listener_unsent(http->listeners->pdata[i]);
	return size;
}

static gboolean http_close_slow(const RdmadHttp *http)
{
	for (guint i = 0; i < http->listeners->len; i++)
		if (http_listener_close_slow(http->listeners->pdata[i], UNREAD_US))
			return TRUE;
	return FALSE;
}

/* Responses that clients do not read must not fill the memory. */
static gboolean http_has_room(gpointer data)
{
	const RdmadHttp *http = data;

	while (http_unsent(http) >= http->limits.max_unsent)
		if (!http_close_slow(http))
			return FALSE;
	return TRUE;
}

RdmadHttp *rdmad_http_new(RdmadLoop *loop, const RdmadHttpLimits *limits, GError **error)
{
	RdmadHttp *http = g_new0(RdmadHttp, 1);

	http->loop = loop;
	http_stats_init(http);
	if (limits)
		http->limits = *limits;
	http->limits.max_connections = http->limits.max_connections ?: 64;
	http->places = http->limits.max_connections;
	http->limits.idle_ms = http->limits.idle_ms ?: 30000;
	http->limits.max_header = http->limits.max_header ?: 16 << 10;
	http->limits.max_body = http->limits.max_body ?: 1 << 20;
	http->limits.max_unsent = http->limits.max_unsent ?: 8 << 20;
	http->routes = g_ptr_array_new_with_free_func(route_free);
	http->listeners = g_ptr_array_new_with_free_func(listener_free);
	http->webs = g_ptr_array_new();
	http->turns = http_turns_new(loop, http_connection_handle, http_has_room, http);
	return http;
}

void rdmad_http_set_helpers(RdmadHttp *http, RdmadWorkers *workers, RdmadHttpLoad load,
			    gpointer data)
{
	http->workers = workers;
	http->load = load;
	http->load_data = data;
}

void rdmad_http_set_hosts(RdmadHttp *http, char *const *names)
{
	g_strfreev(http->hosts);
	http->hosts = g_strdupv((char **)names);
}

void rdmad_http_free(RdmadHttp *http)
{
	if (!http)
		return;
	http_fetch_end(http);
	g_ptr_array_unref(http->listeners);
	g_ptr_array_unref(http->webs);
	g_ptr_array_unref(http->routes);
	http_turns_free(http->turns);
	g_strfreev(http->hosts);
	g_strfreev(http->predecessor);
	g_free(http);
}

/* Returns the part of the path below the route, or NULL.  Only this part may have slashes, which
 * were percent-encoded. */
static const char *route_tail(const HttpRoute *route, const char *path)
{
	const gsize length = strlen(route->path);

	if (!g_str_has_suffix(route->path, "/*") || strncmp(route->path, path, length - 1) != 0)
		return NULL;
	return path[length - 1] ? path + length - 1 : NULL;
}

static gboolean route_takes(const HttpRoute *route, const char *path)
{
	return g_str_equal(route->path, path) || route_tail(route, path);
}

/* Returns the route with exactly this path. */
static HttpRoute *route_find(RdmadHttp *http, const char *method, const char *path, guint *index)
{
	for (guint i = 0; i < http->routes->len; i++) {
		HttpRoute *route = g_ptr_array_index(http->routes, i);

		if (!g_str_equal(route->method, method) || !g_str_equal(route->path, path))
			continue;
		if (index)
			*index = i;
		return route;
	}
	return NULL;
}

gboolean rdmad_http_route(RdmadHttp *http, RdmadModule *owner, const char *method, const char *path,
			  RdmadHttpScope scope, RdmadHttpHandler handler, gpointer data,
			  GError **error)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "DELETE", NULL };
	HttpRoute *route;

	g_assert(g_strv_contains(methods, method));
	g_assert(*path == '/');
	if (route_find(http, method, path, NULL)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
			    "another module serves %s %s already", method, path);
		return FALSE;
	}
	route = g_new0(HttpRoute, 1);
	route->owner = owner;
	route->method = g_strdup(method);
	route->path = g_strdup(path);
	route->scope = scope;
	route->handler = handler;
	route->data = data;
	g_ptr_array_add(http->routes, route);
	return TRUE;
}

void rdmad_http_unroute(RdmadHttp *http, const char *method, const char *path)
{
	guint index;

	if (route_find(http, method, path, &index))
		g_ptr_array_remove_index(http->routes, index);
}

/* The control socket offers all routes; TCP listeners offer public routes that only read. */
static gboolean route_is_offered(const HttpRoute *route, const HttpListener *listener)
{
	if (listener->scope == RDMAD_HTTP_LOCAL)
		return TRUE;
	return (route->scope & RDMAD_HTTP_PUBLIC) && g_str_equal(route->method, "GET");
}

static char *allowed_methods(RdmadHttp *http, const HttpListener *listener, const char *path)
{
	g_autoptr(GString) methods = g_string_new(NULL);

	for (guint i = 0; i < http->routes->len; i++) {
		const HttpRoute *route = g_ptr_array_index(http->routes, i);

		if (!route_takes(route, path) || !route_is_offered(route, listener))
			continue;
		g_string_append_printf(methods, "%s%s%s", methods->len ? ", " : "", route->method,
				       g_str_equal(route->method, "GET") ? ", HEAD" : "");
	}
	return methods->len ? g_string_free(g_steal_pointer(&methods), FALSE) : NULL;
}

/* An exact path has priority over one with a tail. */
static const HttpRoute *route_for(RdmadHttp *http, const char *method, const char *path)
{
	const HttpRoute *exact = route_find(http, method, path, NULL);

	for (guint i = 0; !exact && i < http->routes->len; i++) {
		const HttpRoute *route = g_ptr_array_index(http->routes, i);

		if (g_str_equal(route->method, method) && route_tail(route, path))
			return route;
	}
	return exact;
}

void rdmad_http_foreach_route(const RdmadHttpRequest *request, RdmadHttpRouteFunc fn, gpointer data)
{
	const HttpListener *listener = request->connection->listener;
	const GPtrArray *routes = listener->http->routes;

	for (guint i = 0; i < routes->len; i++) {
		const HttpRoute *route = g_ptr_array_index(routes, i);

		if (route_is_offered(route, listener))
			fn(route->method, route->path, route->scope, data);
	}
}

void http_dispatch(RdmadHttpRequest *request)
{
	const HttpListener *listener = request->connection->listener;
	RdmadHttp *http = listener->http;
	const char *method = request->head.method, *path = request->head.path;
	const HttpRoute *route =
		route_for(http, g_str_equal(method, "HEAD") ? "GET" : method, path);
	g_autofree char *allowed = NULL;

	if (route && route_is_offered(route, listener)) {
		request->owner = route->owner;
		request->tail = route_tail(route, path);
		route->handler(request, route->data);
		return;
	}
	allowed = allowed_methods(http, listener, path);
	if (!allowed) {
		rdmad_http_fail(request, 404, "there is nothing at %s", path);
		return;
	}
	rdmad_http_add_header(request, "Allow", allowed);
	rdmad_http_fail(request, 405, "%s takes %s", path, allowed);
}

/* Divides the available descriptors among the listeners. */
static void http_add_listener(RdmadHttp *http, HttpListener *listener)
{
	const guint max = http->limits.max_connections;
	guint places;

	g_ptr_array_add(http->listeners, listener);
	places = http_socket_places(http->listeners->len, max);
	if (places < MIN(max, http->places))
		rdmad_warn(
			"http.max_connections: the limit of open files allows %u connections to "
			"be given to each of %u listeners, and not %u; raise LimitNOFILE= of the "
			"unit, or ulimit -n",
			places, http->listeners->len, max);
	http->places = places;
}

gboolean rdmad_http_listen(RdmadHttp *http, RdmadModule *owner, const char *address,
			   const char *web_config, GError **error)
{
	HttpWeb *web = web_config ? http_web_open(http, web_config, error) : NULL;
	HttpListener *listener;
	int fd;

	if (web_config && !web)
		return FALSE;
	fd = http_socket_tcp(address, error);
	if (fd < 0) {
		http_web_close(web);
		return FALSE;
	}
	listener = http_listener_new(http, owner, address, RDMAD_HTTP_PUBLIC, fd, error);
	if (!listener) {
		http_web_close(web);
		return FALSE;
	}
	listener->web = web;
	http_add_listener(http, listener);
	return TRUE;
}

void rdmad_http_set_predecessor(RdmadHttp *http, char **addresses)
{
	g_strfreev(http->predecessor);
	http->predecessor = addresses;
}

/* An address of all interfaces conflicts with one of them, so only ports are compared. */
static gboolean predecessor_has_port(const RdmadHttp *http, const char *address)
{
	RdmadHttpAddress wanted, taken;

	if (!rdmad_http_address_parse(address, &wanted, NULL))
		return FALSE;
	for (char **one = http->predecessor; one && *one; one++)
		if (rdmad_http_address_parse(*one, &taken, NULL) && taken.port == wanted.port)
			return TRUE;
	return FALSE;
}

gboolean rdmad_http_rehearse(RdmadHttp *http, const char *address, const char *web_config,
			     GError **error)
{
	HttpWeb *web = web_config ? http_web_open(http, web_config, error) : NULL;
	rdmad_autofd int fd = -1;

	if (web_config && !web)
		return FALSE;
	http_web_close(web);
	if (predecessor_has_port(http, address))
		return TRUE;
	fd = http_socket_tcp(address, error);
	return fd >= 0;
}

gboolean rdmad_http_listen_control(RdmadHttp *http, const char *path, GError **error)
{
	RdmadUnixFile file;
	const int fd = rdmad_unix_listen(SOCK_STREAM, path, 0600, HTTP_BACKLOG, &file, error);
	HttpListener *listener;

	if (fd < 0)
		return FALSE;
	listener = http_listener_new(http, NULL, path, RDMAD_HTTP_LOCAL, fd, error);
	if (!listener) {
		rdmad_unix_file_clear(&file);
		return FALSE;
	}
	listener->file = file;
	http_add_listener(http, listener);
	return TRUE;
}

gboolean rdmad_http_keep_control(RdmadHttp *http, const char *path, GError **error)
{
	for (guint i = 0; i < http->listeners->len; i++) {
		const HttpListener *listener = g_ptr_array_index(http->listeners, i);

		if (g_str_equal(listener->name, path) && rdmad_unix_file_in_place(&listener->file))
			return TRUE;
	}
	rdmad_http_unlisten(http, path);
	return rdmad_http_listen_control(http, path, error);
}

void rdmad_http_unlisten(RdmadHttp *http, const char *address)
{
	for (guint i = http->listeners->len; i-- > 0;) {
		const HttpListener *listener = g_ptr_array_index(http->listeners, i);

		if (g_str_equal(listener->name, address))
			g_ptr_array_remove_index(http->listeners, i);
	}
}

guint rdmad_http_listener_count(const RdmadHttp *http)
{
	return http->listeners->len;
}

void rdmad_http_listener_info(const RdmadHttp *http, guint index, RdmadHttpListenerInfo *info)
{
	const HttpListener *listener = g_ptr_array_index(http->listeners, index);
	const HttpWeb *web = listener->web;

	*info = (RdmadHttpListenerInfo){
		.address = listener->name,
		.scope = listener->scope,
		.connections = listener->connections.length,
	};
	if (!web)
		return;
	info->tls = http_web_has_tls(web);
	info->passwords = http_web_has_users(web);
	info->certificates = http_web_wants_certificates(web);
	info->web_config = http_web_path(web);
	info->web_config_error = http_web_error(web);
}

/* Ends requests of the module, which will not be answered any more. */
static guint listener_end_requests(HttpListener *listener, const RdmadModule *owner)
{
	guint n = 0;

	for (GList *l = listener->connections.head, *next; l; l = next) {
		HttpConnection *c = l->data;

		next = l->next;
		if (c->state != HTTP_HANDLING || c->request->owner != owner)
			continue;
		rdmad_http_fail(c->request, 503, "the module that served this has ended");
		n++;
	}
	return n;
}

static guint reap_routes(RdmadHttp *http, const RdmadModule *owner)
{
	guint n = 0;

	for (guint i = http->routes->len; i-- > 0;) {
		const HttpRoute *route = g_ptr_array_index(http->routes, i);

		if (route->owner != owner)
			continue;
		g_ptr_array_remove_index(http->routes, i);
		n++;
	}
	return n;
}

/* Listeners end with their owner by contract, so they are not counted. */
guint rdmad_http_reap(RdmadHttp *http, const RdmadModule *owner)
{
	guint n = reap_routes(http, owner);

	for (guint i = http->listeners->len; i-- > 0;) {
		HttpListener *listener = g_ptr_array_index(http->listeners, i);

		n += listener_end_requests(listener, owner);
		if (listener->owner == owner)
			g_ptr_array_remove_index(http->listeners, i);
	}
	return n;
}
