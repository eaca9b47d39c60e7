/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/http.h>

typedef struct {	       /* 0: the default in parentheses */
	guint max_connections; /* (64) for each listener */
	guint idle_ms;	       /* (30000) */
	gsize max_header;      /* (16 KiB) */
	gsize max_body;	       /* (1 MiB) */
} RdmadHttpLimits;

/* A symbol of OBJECT.so, a part of rdmad that few need, which stays; or NULL. */
typedef gconstpointer (*RdmadHttpLoad)(const char *object, const char *symbol, gpointer data,
				       GError **error);

typedef struct {
	const char *address; /* or path */
	RdmadHttpScope scope;
	guint connections;
	gboolean tls, passwords, certificates;
	const char *web_config;	      /* NULL: none */
	const char *web_config_error; /* why the file as it is now is not in use; NULL: it is */
} RdmadHttpListenerInfo;

RdmadHttp *rdmad_http_new(RdmadLoop *loop, const RdmadHttpLimits *limits, GError **error);
void rdmad_http_free(RdmadHttp *http);
/* Dependencies of web configurations and of the client; set before any is opened. */
void rdmad_http_set_helpers(RdmadHttp *http, RdmadWorkers *workers, RdmadHttpLoad load,
			    gpointer data);
guint rdmad_http_listener_count(const RdmadHttp *http);
/* Borrowed, until the next turn of the loop. */
void rdmad_http_listener_info(const RdmadHttp *http, guint index, RdmadHttpListenerInfo *info);
/* The control socket: mode 0600, SO_PEERCRED root or our own uid. */
gboolean rdmad_http_listen_control(RdmadHttp *http, const char *path, GError **error);
/* Listens again where the socket was removed; its connections end. */
gboolean rdmad_http_keep_control(RdmadHttp *http, const char *path, GError **error);
/* Whether it came through the control socket. */
gboolean rdmad_http_request_is_local(const RdmadHttpRequest *request);
/* A request that waits for an event.  FALSE: refused, because waiting requests may have only half
 * of a listener's connections. */
gboolean rdmad_http_request_park(RdmadHttpRequest *request);
typedef void (*RdmadHttpRouteFunc)(const char *method, const char *path, RdmadHttpScope scope,
				   gpointer data);
/* The routes that the listener of the request offers. */
void rdmad_http_foreach_route(const RdmadHttpRequest *request, RdmadHttpRouteFunc fn,
			      gpointer data);
guint rdmad_http_reap(RdmadHttp *http, const RdmadModule *owner);
