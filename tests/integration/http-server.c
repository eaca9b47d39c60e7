/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: http-server SOCKET PORT [WEB-CONFIG DIRECTORY]
 *
 * The HTTP server alone, for test-http.py and test-web.py: a control socket with at most 8
 * connections and the same on 127.0.0.1:PORT, by WEB-CONFIG, with the parts from DIRECTORY.  Says
 * "ready" and serves until SIGINT; ends with 1 and the reason when it cannot.
 */
#include <rdmad/http.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/loop.h"
#include "base/work.h"
#include "module/loader.h"
#include "http/http.h"
#include "http/access/tls.h"

static void answer_hello(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_reply(request, 200, "text/plain", "hello\n", 6);
}

static void answer_large(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_reply_take(request, 200, "text/plain", g_strnfill(4 << 20, 'x'), 4 << 20);
}

static void answer_huge(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_reply_take(request, 200, "text/plain", g_strnfill(16 << 20, 'x'), 16 << 20);
}

static void answer_page(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_add_header(request, "content-security-policy", "script-src 'self'");
	rdmad_http_reply(request, 200, "text/html", "<p>", 3);
}

static void answer_body(RdmadHttpRequest *request, gpointer data)
{
	gsize size;
	const guint8 *body = rdmad_http_request_body(request, &size);

	rdmad_http_reply(request, 200, "text/plain", body, size);
}

static void answer_never(RdmadHttpRequest *request, gpointer data)
{
}

static void stop(int signum, gpointer data)
{
	rdmad_loop_stop(data);
}

static void answer_parked(RdmadHttpRequest *request, gpointer data)
{
	(void)rdmad_http_request_park(request);
}

static const struct {
	const char *method, *path;
	RdmadHttpHandler handler;
} routes[] = {
	{ "GET", "/hello", answer_hello }, { "GET", "/large", answer_large },
	{ "GET", "/huge", answer_huge },   { "GET", "/page", answer_page },
	{ "GET", "/never", answer_never }, { "GET", "/parked", answer_parked },
	{ "POST", "/body", answer_body },
};

static gboolean serve(RdmadHttp *http, const char *socket, const char *port, const char *web_config,
		      GError **error)
{
	const RdmadHttpScope both = RDMAD_HTTP_LOCAL | RDMAD_HTTP_PUBLIC;
	g_autofree char *address = g_strconcat("127.0.0.1:", port, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(routes); i++)
		if (!rdmad_http_route(http, NULL, routes[i].method, routes[i].path, both,
				      routes[i].handler, NULL, error))
			return FALSE;
	if (web_config && !rdmad_http_web_config_check(http, web_config, error))
		return FALSE;
	return rdmad_http_route(http, NULL, "GET", "/local", RDMAD_HTTP_LOCAL, answer_hello, NULL,
				error) &&
	       rdmad_http_listen_control(http, socket, error) &&
	       rdmad_http_listen(http, NULL, address, web_config, error);
}

static gconstpointer load(const char *object, const char *symbol, gpointer data, GError **error)
{
	return rdmad_module_load_part(data, object, symbol, error);
}

int main(int argc, char **argv)
{
	const RdmadHttpLimits limits = { .max_connections = 8,
					 .idle_ms = 6000,
					 .max_unsent = 40 << 20 };
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autoptr(GError) error = NULL;
	RdmadWorkers *workers = rdmad_workers_new(loop, 4, NULL);
	RdmadHttp *http = rdmad_http_new(loop, &limits, &error);
	RdmadEvent *interrupt = rdmad_loop_add_signal(loop, SIGINT, stop, loop);
	gboolean good;

	g_assert(argc == 3 || argc == 5);
	signal(SIGPIPE, SIG_IGN);
	rdmad_http_set_helpers(http, workers, load, argc == 5 ? argv[4] : NULL);
	good = serve(http, argv[1], argv[2], argc == 5 ? argv[3] : NULL, &error);
	puts(good ? "ready" : error->message);
	fflush(stdout);
	if (good)
		rdmad_loop_run(loop);
	rdmad_event_free(interrupt);
	rdmad_http_free(http);
	rdmad_workers_free(workers);
	return good ? 0 : 1;
}
