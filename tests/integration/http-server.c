/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: http-server SOCKET PORT
 *
 * The HTTP server alone, for test-http.py: a control socket with at most 8 connections and the same on
 * 127.0.0.1:PORT.  Says "ready" and serves until SIGINT.
 */
#include <rdmad/http.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/loop-private.h"
#include "http/http-private.h"

static void answer_hello(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_reply(request, 200, "text/plain", "hello\n", 6);
}

static void answer_large(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_reply_take(request, 200, "text/plain", g_strnfill(4 << 20, 'x'), 4 << 20);
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

static gboolean serve(RdmadHttp *http, const char *socket, const char *port, GError **error)
{
	const RdmadHttpScope both = RDMAD_HTTP_LOCAL | RDMAD_HTTP_PUBLIC;
	g_autofree char *address = g_strconcat("127.0.0.1:", port, NULL);

	return rdmad_http_route(http, NULL, "GET", "/hello", both, answer_hello, NULL, error) &&
	       rdmad_http_route(http, NULL, "GET", "/large", both, answer_large, NULL, error) &&
	       rdmad_http_route(http, NULL, "GET", "/page", both, answer_page, NULL, error) &&
	       rdmad_http_route(http, NULL, "GET", "/never", both, answer_never, NULL, error) &&
	       rdmad_http_route(http, NULL, "POST", "/body", both, answer_body, NULL, error) &&
	       rdmad_http_route(http, NULL, "GET", "/local", RDMAD_HTTP_LOCAL, answer_hello, NULL,
				error) &&
	       rdmad_http_listen_control(http, socket, error) &&
	       rdmad_http_listen(http, NULL, address, NULL, error);
}

int main(int argc, char **argv)
{
	const RdmadHttpLimits limits = { .max_connections = 8, .idle_ms = 3000 };
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autoptr(GError) error = NULL;
	RdmadHttp *http = rdmad_http_new(loop, &limits, &error);
	RdmadEvent *interrupt = rdmad_loop_add_signal(loop, SIGINT, stop, loop);

	g_assert(argc == 3);
	if (!serve(http, argv[1], argv[2], &error))
		g_error("%s", error->message);
	puts("ready");
	fflush(stdout);
	rdmad_loop_run(loop);
	rdmad_event_free(interrupt);
	rdmad_http_free(http);
	return 0;
}
