/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/server.h"

#include <errno.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/grpc.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <sys/stat.h>

#include "deviceplugin.pb-c.h"
#include "pluginregistration.pb-c.h"
#include "kubelet/unpack.h"

#define PUBLISH_EVERY_US (100 * 1000)
#define REASON_MAX	 512
#define LEAVE_MS	 3000

struct PluginServer {
	RdmadGrpcServer *grpc;
	char *resource, *path;
	ino_t inode; /* 0: unknown */
	const PluginServerOps *ops;
	gpointer data;
	GPtrArray *streams; /* of Stream */
	GBytes *list;
	RdmadEvent *publish;
	gint64 published_us;
	gboolean frozen;
	RdmadEvent *limit; /* of the time in which kubelet closes its connection */
	void (*left)(gpointer data);
	gpointer left_data;
	void (*drained)(gpointer data);
	gpointer drained_data;
};

typedef struct {
	PluginServer *server;
	RdmadGrpcCall *call;
	GBytes *sent; /* the last list, or NULL */
} Stream;

/* Calls with slots are logged where they are unpacked, with their number. */
static void log_call(const PluginServer *server, const char *method)
{
	const RdmadLogFields about = { .resource = server->resource };

	rdmad_log_full(RDMAD_LOG_DEBUG, &about, "%s: kubelet calls %s", server->resource, method);
}

/* ---- streams ---- */

static void stream_free(gpointer data)
{
	Stream *stream = data;

	rdmad_grpc_call_watch(stream->call, NULL, NULL, NULL);
	rdmad_grpc_call_unref(stream->call);
	g_clear_pointer(&stream->sent, g_bytes_unref);
	g_free(stream);
}

static void stream_send(Stream *stream)
{
	GBytes *list = stream->server->list;
	gsize size;
	const guint8 *bytes = g_bytes_get_data(list, &size);

	if (stream->server->frozen || rdmad_grpc_call_pending(stream->call) ||
	    (stream->sent && g_bytes_equal(stream->sent, list)))
		return;
	g_clear_pointer(&stream->sent, g_bytes_unref);
	stream->sent = g_bytes_ref(list);
	rdmad_grpc_call_send(stream->call, bytes, size);
}

static void stream_writable(RdmadGrpcCall *call, gpointer data)
{
	stream_send(data);
}

static void stream_ended(RdmadGrpcCall *call, gpointer data)
{
	Stream *stream = data;
	PluginServer *server = stream->server;

	g_ptr_array_remove_fast(server->streams, stream);
	server->ops->streams_changed(server->data);
}

static void serve_list_and_watch(RdmadGrpcCall *call, const guint8 *message, gsize size,
				 gpointer data)
{
	PluginServer *server = data;
	Stream *stream;

	log_call(server, "ListAndWatch");
	/* Kubelet closes its connection when its stream has ended. */
	if (server->left) {
		rdmad_grpc_call_finish(call);
		return;
	}
	stream = g_new0(Stream, 1);
	stream->server = server;
	stream->call = rdmad_grpc_call_ref(call);
	g_ptr_array_add(server->streams, stream);
	rdmad_grpc_call_watch(call, stream_writable, stream_ended, stream);
	/* Kubelet may start pods from the first list on, so the owner is notified before. */
	server->ops->streams_changed(server->data);
	stream_send(stream);
}

static void publish_now(gpointer data)
{
	PluginServer *server = data;

	server->published_us = rdmad_now_us();
	for (guint i = 0; i < server->streams->len; i++)
		stream_send(server->streams->pdata[i]);
}

/* Sends the first change immediately and merges further ones, because kubelet writes a file for
 * each list. */
void plugin_server_publish(PluginServer *server, GBytes *list)
{
	const gint64 due_us = server->published_us + PUBLISH_EVERY_US;
	const gint64 now_us = rdmad_now_us();

	g_bytes_ref(list);
	g_bytes_unref(server->list);
	server->list = list;
	if (now_us >= due_us)
		publish_now(server);
	else if (!rdmad_event_armed(server->publish))
		rdmad_event_arm(server->publish, (guint)((due_us - now_us) / 1000 + 1));
}

/* ---- unary methods ---- */

/* A message without any field set takes no bytes. */
static void reply_empty(RdmadGrpcCall *call)
{
	rdmad_grpc_call_reply(call, (const guint8 *)"", 0);
}

static void serve_options(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	PluginServer *server = data;
	V1beta1__DevicePluginOptions answer = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	PluginOptions options = { 0 };
	guint8 bytes[16];

	log_call(server, "GetDevicePluginOptions");
	server->ops->options(&options, server->data);
	answer.get_preferred_allocation_available = options.preferred;
	answer.pre_start_required = options.pre_start;
	rdmad_grpc_call_reply(call, bytes, v1beta1__device_plugin_options__pack(&answer, bytes));
}

static RdmadGrpcStatus status_of(const GError *error)
{
	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_INVALID))
		return RDMAD_GRPC_INVALID_ARGUMENT;
	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		return RDMAD_GRPC_NOT_FOUND;
	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE) ||
	    g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_BUSY))
		return RDMAD_GRPC_FAILED_PRECONDITION;
	return RDMAD_GRPC_UNAVAILABLE;
}

void plugin_server_reply(RdmadGrpcCall *call, GBytes *answer, const GError *error)
{
	gsize size;

	if (answer)
		rdmad_grpc_call_reply(call, g_bytes_get_data(answer, &size),
				      g_bytes_get_size(answer));
	else
		rdmad_grpc_call_fail(call, status_of(error), "%s", error->message);
}

static void serve_preferred(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	PluginServer *server = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(GBytes) answer = server->ops->preferred(message, size, server->data, &error);

	plugin_server_reply(call, answer, error);
}

static void serve_allocate(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	PluginServer *server = data;

	server->ops->allocate(call, message, size, server->data);
}

static void serve_pre_start(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	PluginServer *server = data;

	server->ops->pre_start(call, message, size, server->data);
}

static void serve_get_info(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	PluginServer *server = data;
	Pluginregistration__PluginInfo info = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
	char *versions[] = { (char *)"v1beta1" };
	g_autofree guint8 *bytes = NULL;

	log_call(server, "GetInfo");
	info.type = (char *)"DevicePlugin";
	info.name = server->resource;
	info.n_supported_versions = G_N_ELEMENTS(versions);
	info.supported_versions = versions;
	/* Without an endpoint kubelet uses the path at which it found the socket, which may differ
	 * from rdmad's path. */
	bytes = g_malloc(pluginregistration__plugin_info__get_packed_size(&info));
	rdmad_grpc_call_reply(call, bytes, pluginregistration__plugin_info__pack(&info, bytes));
}

static void serve_notify(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	PluginServer *server = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(Unpacked) unpacked =
		unpack(&pluginregistration__registration_status__descriptor, message, size, &error);
	const Pluginregistration__RegistrationStatus *status;
	g_autofree char *reason = NULL;

	log_call(server, "NotifyRegistrationStatus");
	if (!unpacked) {
		plugin_server_reply(call, NULL, error);
		return;
	}
	status = unpacked_message(unpacked);
	reply_empty(call);
	reason = status->plugin_registered ? NULL : g_strndup(status->error, REASON_MAX);
	server->ops->notified(reason, server->data);
}

static const RdmadGrpcMethod METHODS[] = {
	{ "/v1beta1.DevicePlugin/GetDevicePluginOptions", serve_options },
	{ "/v1beta1.DevicePlugin/ListAndWatch", serve_list_and_watch },
	{ "/v1beta1.DevicePlugin/GetPreferredAllocation", serve_preferred },
	{ "/v1beta1.DevicePlugin/Allocate", serve_allocate },
	{ "/v1beta1.DevicePlugin/PreStartContainer", serve_pre_start },
	{ "/pluginregistration.Registration/GetInfo", serve_get_info },
	{ "/pluginregistration.Registration/NotifyRegistrationStatus", serve_notify },
	{ NULL, NULL },
};

/* ---- life cycle ---- */

static void clients_left(gpointer data)
{
	PluginServer *server = data;

	rdmad_event_disarm(server->limit);
	server->left(server->left_data);
}

static PluginServer *server_make(RdmadModule *self, const char *resource, const char *socket_path,
				 GBytes *list, const PluginServerOps *ops, gpointer data)
{
	PluginServer *server = g_new0(PluginServer, 1);

	server->resource = g_strdup(resource);
	server->path = g_strdup(socket_path);
	server->list = g_bytes_ref(list);
	server->ops = ops;
	server->data = data;
	server->streams = g_ptr_array_new_with_free_func(stream_free);
	server->publish = rdmad_loop_add_timer(rdmad_module_loop(self), self, publish_now, server);
	server->limit = rdmad_loop_add_timer(rdmad_module_loop(self), self, clients_left, server);
	return server;
}

static PluginServer *server_begin(PluginServer *server, RdmadGrpcServer *grpc)
{
	struct stat info;

	server->grpc = grpc;
	if (grpc)
		server->inode = lstat(server->path, &info) == 0 ? info.st_ino : 0;
	else
		g_clear_pointer(&server, plugin_server_free);
	return server;
}

PluginServer *plugin_server_new(RdmadModule *self, const char *resource, const char *socket_path,
				GBytes *list, const PluginServerOps *ops, gpointer data,
				GError **error)
{
	PluginServer *server = server_make(self, resource, socket_path, list, ops, data);

	return server_begin(server,
			    rdmad_grpc_server_new(rdmad_module_loop(self), self, socket_path,
						  METHODS, server, NULL, error));
}

PluginServer *plugin_server_take(RdmadModule *self, const char *resource, RdmadInheritedPart *part,
				 GBytes *list, const PluginServerOps *ops, gpointer data,
				 GError **error)
{
	const json_t *state = json_object_get(part->state, "server");
	const char *path = json_string_value(json_object_get(state, "path"));
	PluginServer *server = server_make(self, resource, path ? path : "", list, ops, data);

	return server_begin(server,
			    rdmad_grpc_server_take(rdmad_module_loop(self), self, state, part->fds,
						   part->n_fds, METHODS, server, NULL, error));
}

void plugin_server_freeze(PluginServer *server, void (*still)(gpointer data), gpointer data)
{
	server->frozen = TRUE;
	rdmad_event_disarm(server->publish);
	rdmad_grpc_server_freeze(server->grpc, still, data);
}

json_t *plugin_server_give(PluginServer *server, int *fds, guint *n_fds)
{
	return rdmad_grpc_server_give(server->grpc, fds, n_fds);
}

void plugin_server_free(PluginServer *server)
{
	g_clear_pointer(&server->streams, g_ptr_array_unref);
	g_clear_pointer(&server->grpc, rdmad_grpc_server_free);
	rdmad_event_free(server->publish);
	rdmad_event_free(server->limit);
	g_clear_pointer(&server->list, g_bytes_unref);
	g_free(server->path);
	g_free(server->resource);
	g_free(server);
}

guint plugin_server_streams(const PluginServer *server)
{
	return server->streams->len;
}

const char *plugin_server_path(const PluginServer *server)
{
	return server->path;
}

gboolean plugin_server_is_reachable(const PluginServer *server)
{
	struct stat info;

	if (lstat(server->path, &info) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	return !server->inode || info.st_ino == server->inode;
}

/* ---- end ---- */

/* GOAWAY would have kubelet's gRPC close the connection before kubelet has noticed the end of its
 * stream. */
void plugin_server_leave(PluginServer *server, void (*left)(gpointer data), gpointer data)
{
	rdmad_event_disarm(server->publish);
	for (guint i = 0; i < server->streams->len; i++)
		rdmad_grpc_call_finish(((Stream *)server->streams->pdata[i])->call);
	g_ptr_array_set_size(server->streams, 0);
	server->left = left;
	server->left_data = data;
	rdmad_event_arm(server->limit, LEAVE_MS);
	rdmad_grpc_server_await_clients(server->grpc, clients_left, server);
}

static void server_drain_rest(gpointer data)
{
	PluginServer *server = data;

	rdmad_grpc_server_drain(server->grpc, server->drained, server->drained_data);
}

static void server_end_streams(gpointer data)
{
	plugin_server_leave(data, server_drain_rest, data);
}

/* Kubelet refuses the pods of unanswered calls. */
void plugin_server_drain(PluginServer *server, void (*drained)(gpointer data), gpointer data)
{
	server->drained = drained;
	server->drained_data = data;
	plugin_server_freeze(server, server_end_streams, server);
}
