/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugin server: one socket that serves one resource to kubelet
 *
 * The five methods of v1beta1.DevicePlugin, and the two of pluginregistration.Registration with
 * which kubelet identifies a socket in plugins_registry.  No method carries the name of the
 * resource, so each resource needs its own socket.
 *
 * A ListAndWatch stream gets only the newest list: lists that are published while another is being
 * sent replace each other, and a list equal to the last one is not sent.
 */
#pragma once

#include <jansson.h>
#include <rdmad/grpc.h>
#include <rdmad/hand-over.h>
#include <rdmad/module.h>

/* The optional calls that kubelet makes. */
typedef struct {
	gboolean preferred, pre_start;
} PluginOptions;

typedef struct {
	/* Replies now or later with plugin_server_reply(). */
	void (*allocate)(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data);
	/* Returns the packed response, or NULL with an error; see preferred.h. */
	GBytes *(*preferred)(const guint8 *message, gsize size, gpointer data, GError **error);
	/* Kubelet starts a container with slots of the resource.  Replies now or later. */
	void (*pre_start)(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data);
	void (*options)(PluginOptions *options, gpointer data);
	/* A ListAndWatch stream was opened or closed. */
	void (*streams_changed)(gpointer data);
	/* Returns whether the list has a healthy device. */
	gboolean (*offers)(gpointer data);
	/* Kubelet found the socket in plugins_registry; `error` NULL: kubelet accepted it. */
	void (*notified)(const char *error, gpointer data);
} PluginServerOps;

typedef struct PluginServer PluginServer;

PluginServer *plugin_server_new(RdmadModule *self, const char *resource, const char *socket_path,
				GBytes *list, const PluginServerOps *ops, gpointer data,
				GError **error);
/* Takes over the server of another process: opens kubelet's streams again, from the loop, which
 * kubelet does not notice.  RDMAD_ERROR_INVALID, RDMAD_ERROR_GONE. */
PluginServer *plugin_server_take(RdmadModule *self, const char *resource, RdmadInheritedPart *part,
				 GBytes *list, const PluginServerOps *ops, gpointer data,
				 GError **error);
/* Ends the streams, unless they were handed over; `ops` are not called afterwards. */
void plugin_server_free(PluginServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PluginServer, plugin_server_free)

/* Replies with `answer`, or with `error` if `answer` is NULL; see allocate.h for the errors. */
void plugin_server_reply(RdmadGrpcCall *call, GBytes *answer, const GError *error);

void plugin_server_publish(PluginServer *server, GBytes *list);
guint plugin_server_streams(const PluginServer *server);
const char *plugin_server_path(const PluginServer *server);
/* Returns whether the socket's file is still the one that was made. */
gboolean plugin_server_is_reachable(const PluginServer *server);
/* Stops sending lists, sends pending responses, then calls `still` from the loop. */
void plugin_server_freeze(PluginServer *server, void (*still)(gpointer data), gpointer data);
/* Returns the state for plugin_server_take() of another process; see rdmad/hand-over.h.  NULL: it
 * cannot be handed over. */
json_t *plugin_server_give(PluginServer *server, int *fds, guint *n_fds);
/* Ends the streams, and calls `left` from the loop when kubelet has noticed: it closes its
 * connection then.  A kubelet that is busy has three seconds.  Call only plugin_server_free() and
 * plugin_server_drain() afterwards. */
void plugin_server_leave(PluginServer *server, void (*left)(gpointer data), gpointer data);
/* Sends pending responses, leaves, then calls `drained` from the loop. */
void plugin_server_drain(PluginServer *server, void (*drained)(gpointer data), gpointer data);
