/* SPDX-License-Identifier: Apache-2.0 */
/* Stats of the server; the label "listener" is the address or path as configured */
#include "http/server.h"

#include "base/loop.h"

static const RdmadStatClass requests_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_http_requests",
	.help = "HTTP requests, including refused ones",
	.labels = { "listener", "code" },
};

static const RdmadStatClass connections_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_http_connections",
	.help = "Open HTTP connections",
	.labels = { "listener" },
};

void http_stats_init(RdmadHttp *http)
{
	http->requests = rdmad_loop_stat(http->loop, &requests_class);
	http->connections = rdmad_loop_stat(http->loop, &connections_class);
}

void http_stats_answered(const HttpListener *listener, guint status)
{
	char code[12];

	g_snprintf(code, sizeof(code), "%u", status);
	rdmad_stat_add(listener->http->requests, 1,
		       (const char *const[]){ listener->name, code, NULL });
}

void http_stats_connections(const HttpListener *listener)
{
	rdmad_stat_set(listener->http->connections, listener->connections.length,
		       (const char *const[]){ listener->name, NULL });
}

void http_stats_listener_removed(const HttpListener *listener)
{
	rdmad_stat_drop(listener->http->connections, (const char *const[]){ listener->name, NULL });
}
