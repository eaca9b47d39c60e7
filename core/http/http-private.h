/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/http.h>

typedef struct {	       /* 0: the default in parentheses */
	guint max_connections; /* (64) for each listener */
	guint idle_ms;	       /* (30000) */
	gsize max_header;      /* (16 KiB) */
	gsize max_body;	       /* (1 MiB) */
} RdmadHttpLimits;

RdmadHttp *rdmad_http_new(RdmadLoop *loop, const RdmadHttpLimits *limits, GError **error);
void rdmad_http_free(RdmadHttp *http);
/* The control socket: mode 0600, SO_PEERCRED root or our own uid. */
gboolean rdmad_http_listen_control(RdmadHttp *http, const char *path, GError **error);
guint rdmad_http_reap(RdmadHttp *http, const RdmadModule *owner);
