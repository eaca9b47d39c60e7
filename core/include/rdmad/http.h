/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1: one server for the control socket, the JSON API, metrics and the status page
 *
 * Every listener has limits of connections, header size, body size, duration and idle time.  A
 * route is an exact path or, with a slash and an asterisk at its end, all paths below.  Requests of
 * other paths get 404, of other methods 405.
 */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_HTTP_LOCAL = 1 << 0,  /* on the control socket (root and rdmad's own uid) */
	RDMAD_HTTP_PUBLIC = 1 << 1, /* also on TCP listeners, for GET and HEAD only */
} RdmadHttpScope;

/* The handler responds now or later; the request is valid until the response or `gone`. */
typedef void (*RdmadHttpHandler)(RdmadHttpRequest *request, gpointer data);

/* Adds a route.  `method` is "GET" (also for HEAD), "POST", "PUT" or "DELETE".  RDMAD_ERROR_BUSY:
 * the method and path have a route. */
RDMAD_API gboolean rdmad_http_route(RdmadHttp *http, RdmadModule *owner, const char *method,
				    const char *path, RdmadHttpScope scope,
				    RdmadHttpHandler handler, gpointer data, GError **error);
RDMAD_API void rdmad_http_unroute(RdmadHttp *http, const char *method, const char *path);

/*
 * Listens at "127.0.0.1:9889", "[::1]:9889" or ":9889".  The listener is closed with its owner.
 * `web_config` is NULL, or a file of TLS and basic authentication in the form of Prometheus'
 * exporter-toolkit, which is read again when it changes: rdmad-web-config(5).
 */
RDMAD_API gboolean rdmad_http_listen(RdmadHttp *http, RdmadModule *owner, const char *address,
				     const char *web_config, GError **error);
/* Returns whether rdmad_http_listen() would succeed in place of a running rdmad, whose own ports
 * count as free. */
RDMAD_API gboolean rdmad_http_rehearse(RdmadHttp *http, const char *address, const char *web_config,
				       GError **error);
/* Checks the syntax of an address; RDMAD_ERROR_INVALID. */
RDMAD_API gboolean rdmad_http_address_check(const char *address, GError **error);
/* Checks a `web_config`, and the files that it names; RDMAD_ERROR_CONFIG with file:line. */
RDMAD_API gboolean rdmad_http_web_config_check(RdmadHttp *http, const char *path, GError **error);
/* Closes the listener of an address.  Must not be called from a handler. */
RDMAD_API void rdmad_http_unlisten(RdmadHttp *http, const char *address);

RDMAD_API const char *rdmad_http_request_path(const RdmadHttpRequest *request);
/* Returns the decoded path below a route with an asterisk, which is not empty; NULL: the route has
 * no asterisk. */
RDMAD_API const char *rdmad_http_request_tail(const RdmadHttpRequest *request);
/* Return a header, or a parameter of the query, or NULL. */
RDMAD_API const char *rdmad_http_request_header(const RdmadHttpRequest *request, const char *name);
RDMAD_API const char *rdmad_http_request_query(const RdmadHttpRequest *request, const char *name);
/* Returns the body of POST or PUT, whose size the server limits. */
RDMAD_API const guint8 *rdmad_http_request_body(const RdmadHttpRequest *request, gsize *size);
/* `gone` is called once if the client disconnects before the response; then the request is
 * invalid. */
RDMAD_API void rdmad_http_request_on_gone(RdmadHttpRequest *request, void (*gone)(gpointer data),
					  gpointer data);

/* Sends the response, which ends the request.  `body` is copied. */
RDMAD_API void rdmad_http_reply(RdmadHttpRequest *request, guint status, const char *content_type,
				const void *body, gsize size);
/* Sends the response without a copy: takes `body` over, and frees it with g_free(). */
RDMAD_API void rdmad_http_reply_take(RdmadHttpRequest *request, guint status,
				     const char *content_type, char *body, gsize size);
/* Sends the response without a copy: takes a reference to `body`, which responses may share. */
RDMAD_API void rdmad_http_reply_bytes(RdmadHttpRequest *request, guint status,
				      const char *content_type, GBytes *body);
/* Sends {"error": "..."} with that status. */
RDMAD_API void rdmad_http_fail(RdmadHttpRequest *request, guint status, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
/* Sends `value` with the status 200, and takes the reference to it over. */
RDMAD_API void rdmad_http_reply_json(RdmadHttpRequest *request, struct json_t *value);
/* Adds a header to the later response; it replaces the server's header of that name
 * (Content-Security-Policy, Cache-Control, ...).  Control characters in `value` become spaces. */
RDMAD_API void rdmad_http_add_header(RdmadHttpRequest *request, const char *name,
				     const char *value);
