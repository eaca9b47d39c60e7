/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "grpc"

#include <errno.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/message-socket.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "grpc/server-private.h"

#define ACCEPTS_A_TURN	 16
#define BACKLOG		 64
#define PAUSE_MS	 100u /* after a lack of descriptors */
#define SECOND_GOAWAY_MS 1000u
#define MAX_CONNECTIONS	 16u
#define MAX_STREAMS	 100u
#define MAX_MESSAGE	 (4u * 1024 * 1024)

/* Returns a connection that never had a call, else the one that has been idle longest.  So
 * clients that only connect displace only each other. */
static RdmadGrpcConnection *server_idle_connection(const RdmadGrpcServer *server)
{
	RdmadGrpcConnection *idle = NULL;

	for (const GList *l = server->connections.head; l; l = l->next) {
		RdmadGrpcConnection *connection = l->data;

		if (connection->calls.length > 0)
			continue;
		if (!connection->called)
			return connection;
		if (!idle)
			idle = connection;
	}
	return idle;
}

static gboolean server_make_room(RdmadGrpcServer *server)
{
	RdmadGrpcConnection *idle;

	if (server->totals.connections < server->limits.max_connections)
		return TRUE;
	idle = server_idle_connection(server);
	if (idle)
		rdmad_grpc_connection_yield(idle);
	return idle != NULL;
}

static gboolean server_admits(RdmadGrpcServer *server, int fd)
{
	uid_t uid = (uid_t)-1;

	if (!server->limits.any_user && !rdmad_unix_peer_trusted(fd, &uid)) {
		rdmad_warn("%s: refused a connection of user %d", server->file.path, (int)uid);
		return FALSE;
	}
	if (!server_make_room(server)) {
		rdmad_warn("%s: refused a connection: %u have open calls", server->file.path,
			   server->totals.connections);
		return FALSE;
	}
	return TRUE;
}

void rdmad_grpc_server_adopt(RdmadGrpcServer *server, int fd)
{
	if (server_admits(server, fd)) {
		rdmad_grpc_connection_new(server, fd);
		return;
	}
	server->totals.refused_total++;
	close(fd);
}

/* Ignores the listening socket for a while: it stays readable although nothing can be accepted. */
static void server_pause(RdmadGrpcServer *server)
{
	rdmad_warn("%s: cannot accept a connection: %s", server->file.path, g_strerror(errno));
	rdmad_event_want(server->accept, 0);
	rdmad_event_arm(server->pause, PAUSE_MS);
}

static void server_resume(gpointer data)
{
	RdmadGrpcServer *server = data;

	if (!server->is_frozen && !rdmad_event_want(server->accept, RDMAD_IO_READ))
		rdmad_event_arm(server->pause, PAUSE_MS);
}

static gboolean accept_error_is_temporary(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR || errnum == ECONNABORTED;
}

static void server_accept(int listener, RdmadIo ready, gpointer data)
{
	RdmadGrpcServer *server = data;

	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			rdmad_grpc_server_adopt(server, fd);
			continue;
		}
		if (!accept_error_is_temporary(errno))
			server_pause(server);
		return;
	}
}

static void server_stop_listening(RdmadGrpcServer *server)
{
	g_clear_pointer(&server->accept, rdmad_event_free);
	g_clear_pointer(&server->pause, rdmad_event_free);
	rdmad_clear_fd(&server->fd);
	rdmad_unix_file_clear(&server->file);
}

/* ---- drain ---- */

void rdmad_grpc_server_left(RdmadGrpcServer *server)
{
	if (server->drained && server->connections.length == 0)
		rdmad_event_arm(server->drain, 0);
	if (server->frozen)
		rdmad_event_arm(server->freeze, 0);
}

static void server_drain_continue(gpointer data)
{
	RdmadGrpcServer *server = data;
	void (*drained)(gpointer) = server->drained;

	if (server->connections.length > 0) {
		for (GList *l = server->connections.head; l; l = l->next)
			rdmad_grpc_connection_goaway(l->data);
		return;
	}
	server->drained = NULL;
	if (drained)
		drained(server->drained_data);
}

void rdmad_grpc_server_await_clients(RdmadGrpcServer *server, void (*left)(gpointer data),
				     gpointer data)
{
	server->drained = left;
	server->drained_data = data;
	server_stop_listening(server);
	for (GList *l = server->connections.head; l; l = l->next) {
		RdmadGrpcConnection *connection = l->data;

		rdmad_grpc_connection_thaw(connection);
		if (!connection->calls.length)
			rdmad_grpc_connection_goaway(connection);
	}
	rdmad_grpc_server_left(server);
}

void rdmad_grpc_server_drain(RdmadGrpcServer *server, void (*drained)(gpointer data), gpointer data)
{
	server->drained = drained;
	server->drained_data = data;
	server_stop_listening(server);
	for (GList *l = server->connections.head; l; l = l->next)
		rdmad_grpc_connection_drain(l->data);
	rdmad_event_arm(server->drain, server->connections.length > 0 ? SECOND_GOAWAY_MS : 0);
}

/* ---- hand-over to another process ---- */

static void server_check_still(gpointer data)
{
	RdmadGrpcServer *server = data;
	void (*frozen)(gpointer) = server->frozen;

	for (const GList *l = server->connections.head; l; l = l->next)
		if (!rdmad_grpc_connection_is_still(l->data))
			return;
	server->frozen = NULL;
	if (frozen)
		frozen(server->frozen_data);
}

void rdmad_grpc_server_freeze(RdmadGrpcServer *server, void (*frozen)(gpointer data), gpointer data)
{
	server->is_frozen = TRUE;
	server->frozen = frozen;
	server->frozen_data = data;
	/* New connections stay in the backlog for the next process. */
	if (server->accept)
		rdmad_event_want(server->accept, 0);
	for (GList *l = server->connections.head; l; l = l->next)
		rdmad_grpc_connection_freeze(l->data);
	rdmad_event_arm(server->freeze, 0);
}

json_t *rdmad_grpc_server_give(RdmadGrpcServer *server, int *fds, guint *n_fds)
{
	json_t *connections;

	*n_fds = 0;
	if (server->fd < 0 || !rdmad_unix_file_in_place(&server->file))
		return NULL;
	server->is_given = TRUE;
	fds[(*n_fds)++] = server->fd;
	connections = json_array();
	for (GList *l = server->connections.head; l && *n_fds < RDMAD_MESSAGE_FDS_MAX;
	     l = l->next) {
		json_t *connection = rdmad_grpc_connection_save(l->data, &fds[*n_fds]);

		if (!connection)
			continue;
		json_array_append_new(connections, connection);
		(*n_fds)++;
	}
	return json_pack("{s:s, s:o}", "path", server->file.path, "connections", connections);
}

/* ---- life cycle ---- */

/* Moves the calls to the queues, so that no callback sees a partly destroyed server. */
static void server_destroy(RdmadGrpcServer *server, GQueue *unnotified, GQueue *lost)
{
	rdmad_owned_leave(&server->owned);
	if (server->is_given) /* the file belongs to the next process */
		g_clear_pointer(&server->file.path, g_free);
	server_stop_listening(server);
	while (server->connections.head) {
		RdmadGrpcConnection *connection = server->connections.head->data;

		if (!server->is_given)
			rdmad_grpc_connection_end_calls(connection, unnotified);
		rdmad_grpc_connection_free(connection, lost);
	}
	rdmad_event_free(server->drain);
	rdmad_event_free(server->freeze);
	g_free(server);
}

static void server_free_with(RdmadGrpcServer *server, gboolean notify)
{
	GQueue unnotified = G_QUEUE_INIT, lost = G_QUEUE_INIT;
	RdmadGrpcCall *call;

	server_destroy(server, &unnotified, &lost);
	while ((call = g_queue_pop_head(&unnotified))) {
		if (notify)
			rdmad_grpc_call_notify(call);
		rdmad_grpc_call_unref(call);
	}
	while ((call = g_queue_pop_head(&lost)))
		rdmad_grpc_call_unref(call);
}

/* Calls no callback, because the module has been destroyed. */
static void server_reap(gpointer server)
{
	server_free_with(server, FALSE);
}

void rdmad_grpc_server_free(RdmadGrpcServer *server)
{
	if (server)
		server_free_with(server, TRUE);
}

static void limits_fill(RdmadGrpcLimits *filled, const RdmadGrpcLimits *limits)
{
	if (limits)
		*filled = *limits;
	if (filled->max_connections == 0)
		filled->max_connections = MAX_CONNECTIONS;
	if (filled->max_streams == 0)
		filled->max_streams = MAX_STREAMS;
	if (filled->max_message == 0)
		filled->max_message = MAX_MESSAGE;
}

/* Takes `fd` and the path in `file` over. */
static RdmadGrpcServer *server_make(RdmadLoop *loop, RdmadModule *owner, int fd, RdmadUnixFile file,
				    const RdmadGrpcMethod *methods, gpointer data,
				    const RdmadGrpcLimits *limits, GError **error)
{
	RdmadGrpcServer *server = g_new0(RdmadGrpcServer, 1);

	server->loop = loop;
	server->methods = methods;
	server->data = data;
	server->fd = fd;
	server->file = file;
	limits_fill(&server->limits, limits);
	server->stats = rdmad_grpc_stats_of_servers(loop);
	server->drain = rdmad_loop_add_timer(loop, NULL, server_drain_continue, server);
	server->freeze = rdmad_loop_add_timer(loop, NULL, server_check_still, server);
	rdmad_owned_enter(&server->owned, loop, owner, server_reap, server);
	server->pause = rdmad_loop_add_timer(loop, NULL, server_resume, server);
	server->accept =
		rdmad_loop_add_io(loop, NULL, fd, RDMAD_IO_READ, server_accept, server, error);
	if (!server->accept)
		g_clear_pointer(&server, rdmad_grpc_server_free);
	return server;
}

RdmadGrpcServer *rdmad_grpc_server_new(RdmadLoop *loop, RdmadModule *owner, const char *socket_path,
				       const RdmadGrpcMethod *methods, gpointer data,
				       const RdmadGrpcLimits *limits, GError **error)
{
	RdmadUnixFile file = { 0 };
	const int fd = rdmad_unix_listen(SOCK_STREAM, socket_path, 0600, BACKLOG, &file, error);

	return fd < 0 ? NULL : server_make(loop, owner, fd, file, methods, data, limits, error);
}

static gboolean file_find(const char *path, RdmadUnixFile *file, GError **error)
{
	struct stat info;

	if (!path || lstat(path, &info) < 0 || !S_ISSOCK(info.st_mode)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE, "%s: the socket is gone",
			    path ? path : "a server without a path");
		return FALSE;
	}
	*file = (RdmadUnixFile){ g_strdup(path), info.st_dev, info.st_ino };
	return TRUE;
}

RdmadGrpcServer *rdmad_grpc_server_take(RdmadLoop *loop, RdmadModule *owner, const json_t *state,
					int *fds, guint n_fds, const RdmadGrpcMethod *methods,
					gpointer data, const RdmadGrpcLimits *limits,
					GError **error)
{
	const json_t *connections = json_object_get(state, "connections");
	g_autoptr(RdmadGrpcServer) server = NULL;
	RdmadUnixFile file;

	if (n_fds != json_array_size(connections) + 1) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%u descriptors", n_fds);
		return NULL;
	}
	if (!file_find(json_string_value(json_object_get(state, "path")), &file, error))
		return NULL;
	server = server_make(loop, owner, rdmad_steal_fd(&fds[0]), file, methods, data, limits,
			     error);
	for (guint i = 1; server && i < n_fds; i++) {
		if (!rdmad_grpc_connection_resume(server, fds[i],
						  json_array_get(connections, i - 1), error))
			return NULL;
		rdmad_steal_fd(&fds[i]);
	}
	return g_steal_pointer(&server);
}

void rdmad_grpc_server_totals(const RdmadGrpcServer *server, RdmadGrpcServerTotals *totals)
{
	*totals = server->totals;
}
