/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugin server: one socket that serves one resource to kubelet
 *
 * The five methods of v1beta1.DevicePlugin, and the two of pluginregistration.Registration with
 * which kubelet identifies a socket in plugins_registry.  No method carries the name of the
 * resource, hence a socket for each.
 *
 * A ListAndWatch stream is sent the newest list only: while one is on its way, others replace each
 * other; a list equal to the last one is not sent.
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>

/* Which calls kubelet shall make. */
typedef struct {
	gboolean preferred, pre_start;
} RdmadPluginOptions;

typedef struct {
	/* The call is answered now or later, by rdmad_plugin_server_reply(). */
	void (*allocate)(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data);
	/* The packed answer, or NULL with an error; see preferred.h. */
	GBytes *(*preferred)(const guint8 *message, gsize size, gpointer data, GError **error);
	/* Kubelet starts a container of ours; the call is answered now or later. */
	void (*pre_start)(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data);
	void (*options)(RdmadPluginOptions *options, gpointer data);
	/* A ListAndWatch stream began or ended. */
	void (*streams_changed)(gpointer data);
	/* Kubelet found the socket in plugins_registry; `error` NULL: and took it. */
	void (*notified)(const char *error, gpointer data);
} RdmadPluginServerOps;

typedef struct RdmadPluginServer RdmadPluginServer;

RdmadPluginServer *rdmad_plugin_server_new(RdmadModule *self, const char *resource,
					   const char *socket_path, GBytes *list,
					   const RdmadPluginServerOps *ops, gpointer data,
					   GError **error);
/* Ends its streams; none of `ops` is called any more. */
void rdmad_plugin_server_free(RdmadPluginServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPluginServer, rdmad_plugin_server_free)

/* `answer`, or where it is NULL `error`; see allocate.h for the errors. */
void rdmad_plugin_server_reply(RdmadGrpcCall *call, GBytes *answer, const GError *error);

void rdmad_plugin_server_publish(RdmadPluginServer *server, GBytes *list);
guint rdmad_plugin_server_streams(const RdmadPluginServer *server);
const char *rdmad_plugin_server_path(const RdmadPluginServer *server);
/* The socket's file is still the one that was made. */
gboolean rdmad_plugin_server_is_reachable(const RdmadPluginServer *server);
/* Ends the streams, lets answers leave, calls `drained` from the loop. */
void rdmad_plugin_server_drain(RdmadPluginServer *server, void (*drained)(gpointer data),
			       gpointer data);
