/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <errno.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unix-socket.h"
#include "clock.h"
#include "life.h"
#include "node.h"

#define REQUESTS_MAX 4u
#define SCRAPE_MS    10000u /* scrape_timeout */
#define COMMAND_MS   30000u /* COMMAND_TIMEOUT_S */
#define PIECE	     16384u

#define HEAD                                                                                       \
	"%s %s HTTP/1.1\r\nHost: rdmad\r\nConnection: close\r\n"                                   \
	"X-Prometheus-Scrape-Timeout-Seconds: 10\r\nContent-Length: 0\r\n\r\n"

static const struct {
	const char *method, *path;
} commands[] = {
	{ "GET", CLIENT_API "status" },
	{ "GET", CLIENT_ALLOCATIONS },
	{ "GET", CLIENT_API "devices" },
	{ "GET", CLIENT_API "devices/erdma_1" },
	{ "GET", CLIENT_API "topology" },
	{ "GET", CLIENT_API "events?after=0" },
	{ "GET", CLIENT_API "events?after=1&wait=20" },
	{ "GET", CLIENT_API "attributes" },
	{ "GET", CLIENT_API "commands" },
	{ "GET", CLIENT_API "doctor" },
	{ "GET", CLIENT_API "explain?device=erdma_2" },
	{ "GET", CLIENT_API "attachments" },
	{ "GET", CLIENT_API "nccl?explain=1" },
	{ "GET", CLIENT_API "nccl/containers" },
	{ "GET", CLIENT_API "traffic" },
	{ "GET", "/readyz" },
	{ "POST", CLIENT_API "rescan" },
	{ "POST", CLIENT_API "allocations/refresh" },
};

typedef struct {
	int fd;
	RdmadEvent *io, *limit;
	const char *path;
	GString *received;
	gint64 began_us;
	gboolean is_disturbed, is_abandoned;
} Request;

static struct {
	RdmadLoop *loop;
	void (*replied)(const Reply *reply);
	Decisions *decisions;
	GPtrArray *requests;
} client;

static void request_free(gpointer data)
{
	Request *request = data;

	rdmad_event_free(request->io);
	rdmad_event_free(request->limit);
	rdmad_clear_fd(&request->fd);
	g_string_free(request->received, TRUE);
	g_free(request);
}

/* ---- the response ---- */

/* Returns the status, and the body in `text`; 0: the response is not complete. */
static guint response_parse(const GString *received, const char **text)
{
	const char *head_end = strstr(received->str, "\r\n\r\n");
	const char *length = strstr(received->str, "\r\nContent-Length: ");
	guint status = 0;
	gsize size = 0;

	if (!head_end || !length || length > head_end ||
	    sscanf(received->str, "HTTP/1.1 %u ", &status) != 1 ||
	    sscanf(length, "\r\nContent-Length: %zu", &size) != 1)
		return 0;
	*text = head_end + 4;
	return received->len - (gsize)(*text - received->str) == size ? status : 0;
}

static void request_end(Request *request, gboolean is_late)
{
	Reply reply = { .path = request->path,
			.began_us = request->began_us,
			.is_late = is_late,
			.is_disturbed = request->is_disturbed || life_is_stopping() ||
					!life_is_on() || life_is_over() };

	if (!is_late)
		reply.status = response_parse(request->received, &reply.text);
	decisions_note(client.decisions, "%s %u %" G_GINT64_FORMAT, request->path, reply.status,
		       clock_now_us());
	if (!request->is_abandoned)
		client.replied(&reply);
	g_ptr_array_remove(client.requests, request);
}

static void limit_passed(gpointer data)
{
	request_end(data, TRUE);
}

static void readable(int fd, RdmadIo ready, gpointer data)
{
	Request *request = data;
	char bytes[PIECE];
	const gssize n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		g_string_append_len(request->received, bytes, n);
	else if (n == 0 || errno != EAGAIN)
		request_end(request, FALSE);
}

/* ---- the request ---- */

static Request *request_new(int *fd, const char *path, guint limit_ms)
{
	Request *request = g_new0(Request, 1);

	request->fd = rdmad_steal_fd(fd);
	request->path = path;
	request->received = g_string_new(NULL);
	request->began_us = clock_now_us();
	request->io = rdmad_loop_add_io(client.loop, NULL, request->fd, RDMAD_IO_READ, readable,
					request, NULL);
	g_assert_nonnull(request->io);
	request->limit = rdmad_loop_add_timer(client.loop, NULL, limit_passed, request);
	rdmad_event_arm(request->limit, limit_ms);
	g_ptr_array_add(client.requests, request);
	return request;
}

/* Returns NULL if rdmad does not accept connections. */
static Request *ask(const char *method, const char *path, guint limit_ms)
{
	g_autofree char *socket_path = g_build_filename(node_run_dir(), "rdmad.sock", NULL);
	g_autofree char *head = g_strdup_printf(HEAD, method, path);
	rdmad_autofd int fd = -1;

	if (client.requests->len >= REQUESTS_MAX)
		return NULL;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (rdmad_unix_connect_fd(fd, socket_path) != 0 ||
	    send(fd, head, strlen(head), MSG_NOSIGNAL) < 0)
		return NULL;
	return request_new(&fd, path, limit_ms);
}

static void ask_somehow(const char *method, const char *path, guint patience_ms)
{
	const guint limits_ms[] = { patience_ms, 1, 300, 3000 };
	const guint how = decide_rarely(client.decisions, DECIDE_HOW, 4, G_N_ELEMENTS(limits_ms));
	Request *request = ask(method, path, limits_ms[how]);

	if (request)
		request->is_abandoned = how > 0;
}

void client_scrape(void)
{
	if (node_has(NODE_METRICS))
		ask("GET", CLIENT_METRICS, SCRAPE_MS);
}

void client_scrape_somehow(void)
{
	if (node_has(NODE_METRICS))
		ask_somehow("GET", CLIENT_METRICS, SCRAPE_MS);
}

void client_command(void)
{
	const guint which = decide(client.decisions, DECIDE_WHICH, G_N_ELEMENTS(commands));

	ask_somehow(commands[which].method, commands[which].path, COMMAND_MS);
}

gboolean client_is_idle(void)
{
	return client.requests->len == 0;
}

void client_disturb(void)
{
	for (guint i = 0; i < client.requests->len; i++)
		((Request *)client.requests->pdata[i])->is_disturbed = TRUE;
}

/* ---- life cycle ---- */

void client_begin(RdmadLoop *loop, void (*replied)(const Reply *reply), Decisions *decisions)
{
	client.loop = loop;
	client.replied = replied;
	client.decisions = decisions;
	client.requests = g_ptr_array_new_with_free_func(request_free);
}

void client_end(void)
{
	g_ptr_array_unref(client.requests);
}
