/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/http.h>

typedef struct {	       /* 0: the default in parentheses */
	guint max_connections; /* (64) for each listener */
	guint idle_ms;	       /* (30000) */
	gsize max_header;      /* (16 KiB) */
	gsize max_body;	       /* (1 MiB) */
	/* (8 MiB) of responses that public clients have not read; beyond them no further one is
	 * built. */
	gsize max_unsent;
} RdmadHttpLimits;

/* Loads OBJECT.so, a part of this rdmad (base/part.h), which is never unloaded.  Returns the
 * symbol, or NULL. */
typedef gconstpointer (*RdmadHttpLoad)(const char *object, const char *symbol, gpointer data,
				       GError **error);

typedef struct {
	const char *address; /* or path */
	RdmadHttpScope scope;
	guint connections;
	gboolean tls, passwords, certificates;
	const char *web_config;	      /* path, or NULL */
	const char *web_config_error; /* why the current file is not in use; NULL: it is in use */
} RdmadHttpListenerInfo;

RdmadHttp *rdmad_http_new(RdmadLoop *loop, const RdmadHttpLimits *limits, GError **error);
void rdmad_http_free(RdmadHttp *http);
/* Sets the dependencies of web configurations and of the client, before any is opened. */
void rdmad_http_set_helpers(RdmadHttp *http, RdmadWorkers *workers, RdmadHttpLoad load,
			    gpointer data);
/* Checks a name for rdmad_http_set_hosts(); RDMAD_ERROR_INVALID. */
gboolean rdmad_http_host_check(const char *name, GError **error);
/* Sets the names that a Host header may have on a loopback address, besides those of this host:
 * "rdmad.example.com", or "*.example.com" for all names below it.  Copied. */
void rdmad_http_set_hosts(RdmadHttp *http, char *const *names);
/* The addresses of the running rdmad, for rdmad_http_rehearse(); NULL-terminated, taken over. */
void rdmad_http_set_predecessor(RdmadHttp *http, char **addresses);
guint rdmad_http_listener_count(const RdmadHttp *http);
/* The strings are borrowed until the next iteration of the loop. */
void rdmad_http_listener_info(const RdmadHttp *http, guint index, RdmadHttpListenerInfo *info);
/* Listens on the control socket: mode 0600, peers (SO_PEERCRED) root or rdmad's uid. */
gboolean rdmad_http_listen_control(RdmadHttp *http, const char *path, GError **error);
/* Listens again if the socket was removed, and closes the old socket's connections. */
gboolean rdmad_http_keep_control(RdmadHttp *http, const char *path, GError **error);
/* Returns whether the request came through the control socket. */
gboolean rdmad_http_request_is_local(const RdmadHttpRequest *request);
/* Marks a request as waiting for an event.  Returns FALSE, and the request is rejected, if half
 * of the listener's connections wait already. */
gboolean rdmad_http_request_park(RdmadHttpRequest *request);
typedef void (*RdmadHttpRouteFunc)(const char *method, const char *path, RdmadHttpScope scope,
				   gpointer data);
/* Calls `fn` for each route of the request's listener. */
void rdmad_http_foreach_route(const RdmadHttpRequest *request, RdmadHttpRouteFunc fn,
			      gpointer data);
guint rdmad_http_reap(RdmadHttp *http, const RdmadModule *owner);
