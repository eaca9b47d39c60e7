/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1: one server for the control socket, the JSON API, metrics and the status page
 *
 * Limits on connections, header and body size, time and idle hold for every listener.  Routes are
 * exact paths, or, with "/" and an asterisk at the end, all below one; a request for another is 404,
 * for another method 405.
 */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_HTTP_LOCAL = 1 << 0,  /* on the control socket (root and our own uid) */
	RDMAD_HTTP_PUBLIC = 1 << 1, /* on TCP listeners as well; GET and HEAD only */
} RdmadHttpScope;

/* Answer now, or keep the request (it stays valid until answered or `gone`) and answer later. */
typedef void (*RdmadHttpHandler)(RdmadHttpRequest *request, gpointer data);

/* `method` "GET" (also answers HEAD), "POST", "PUT" or "DELETE".  A path can be routed once: RDMAD_ERROR_BUSY. */
RDMAD_API gboolean rdmad_http_route(RdmadHttp *http, RdmadModule *owner, const char *method,
				    const char *path, RdmadHttpScope scope,
				    RdmadHttpHandler handler, gpointer data, GError **error);
RDMAD_API void rdmad_http_unroute(RdmadHttp *http, const char *method, const char *path);

/*
 * "127.0.0.1:9889", "[::1]:9889", ":9889"; the listener goes with its owner.  `web_config`: NULL,
 * or a file of TLS and basic authentication in the form of Prometheus' exporter-toolkit, which is
 * read again when it changes: rdmad-web-config(5).
 */
RDMAD_API gboolean rdmad_http_listen(RdmadHttp *http, RdmadModule *owner, const char *address,
				     const char *web_config, GError **error);
/* Returns whether rdmad_http_listen() would succeed in the place of a running rdmad: its own ports
 * count as free. */
RDMAD_API gboolean rdmad_http_rehearse(RdmadHttp *http, const char *address, const char *web_config,
				       GError **error);
/* Checks the syntax of an address; RDMAD_ERROR_INVALID. */
RDMAD_API gboolean rdmad_http_address_check(const char *address, GError **error);
/* Reads such a file, and the files that it names; RDMAD_ERROR_CONFIG with file:line. */
RDMAD_API gboolean rdmad_http_web_config_check(RdmadHttp *http, const char *path, GError **error);
/* Not from a handler. */
RDMAD_API void rdmad_http_unlisten(RdmadHttp *http, const char *address);

RDMAD_API const char *rdmad_http_request_path(const RdmadHttpRequest *request);
/* The rest of the path, decoded, not empty, below a route with an asterisk; NULL: the route has none. */
RDMAD_API const char *rdmad_http_request_tail(const RdmadHttpRequest *request);
/* NULL where there is none. */
RDMAD_API const char *rdmad_http_request_header(const RdmadHttpRequest *request, const char *name);
RDMAD_API const char *rdmad_http_request_query(const RdmadHttpRequest *request, const char *name);
/* Body of POST and PUT; bounded by the server. */
RDMAD_API const guint8 *rdmad_http_request_body(const RdmadHttpRequest *request, gsize *size);
/* Called once if the client goes away before the answer; the request is invalid after it. */
RDMAD_API void rdmad_http_request_on_gone(RdmadHttpRequest *request, void (*gone)(gpointer data),
					  gpointer data);

/* Ends the request.  `body` is copied. */
RDMAD_API void rdmad_http_reply(RdmadHttpRequest *request, guint status, const char *content_type,
				const void *body, gsize size);
/* The same without a copy: `body` is taken over and freed with g_free(). */
RDMAD_API void rdmad_http_reply_take(RdmadHttpRequest *request, guint status,
				     const char *content_type, char *body, gsize size);
/* The same with bytes that other answers share. */
RDMAD_API void rdmad_http_reply_bytes(RdmadHttpRequest *request, guint status,
				      const char *content_type, GBytes *body);
/* {"error": "..."} with that status. */
RDMAD_API void rdmad_http_fail(RdmadHttpRequest *request, guint status, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
/* Takes the value over. */
RDMAD_API void rdmad_http_reply_json(RdmadHttpRequest *request, struct json_t *value);
/* Adds a header to the answer to come, in the place of the server's own of that name
 * (Content-Security-Policy, Cache-Control, ...). */
RDMAD_API void rdmad_http_add_header(RdmadHttpRequest *request, const char *name,
				     const char *value);
