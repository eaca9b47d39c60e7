/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's kubelet: its directories, its sockets, and their changes
 *
 *	<kubelet_dir>/device-plugins/kubelet.sock	plugins call Register here
 *	<kubelet_dir>/plugins_registry/			sockets that kubelet finds and connects to
 *	<kubelet_dir>/pod-resources/kubelet.sock	podresources: the devices of pods
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>
#include <rdmad/socket-file.h>

#include "kubelet/server.h"
#include "settings.h"

typedef struct Kubelet Kubelet;

/* Calls `changed` when a file is created in or removed from device-plugins or plugins_registry. */
Kubelet *kubelet_new(RdmadModule *self, const PluginSettings *settings,
		     void (*changed)(gpointer data), gpointer data);
void kubelet_free(Kubelet *kubelet);
void kubelet_configure(Kubelet *kubelet, const PluginSettings *settings);

/* Returns the current registration method, LEGACY or REGISTRY. */
RegistrationMethod kubelet_registration_method(const Kubelet *kubelet);

/* Identifies kubelet.sock; a restarted kubelet has another one.  Returns FALSE if the socket is
 * not there or cannot be read. */
gboolean kubelet_identify(const Kubelet *kubelet, RdmadSocketFile *file);
/* Returns TRUE if there is certainly no socket, FALSE after an error that may be temporary. */
gboolean kubelet_is_away(const Kubelet *kubelet);
/* Returns TRUE if the same kubelet still listens, or if that is unknown. */
gboolean kubelet_lives(const Kubelet *kubelet, const RdmadSocketFile *file);

/* Returns the delay before a registration, 0: none.  If an earlier rdmad was killed, kubelet must
 * notice the end of its streams first; otherwise it would stop the new endpoint instead. */
guint kubelet_hold_ms(const Kubelet *kubelet);

/* Returns whether a socket of the resource, of an earlier rdmad, was found dead after `since_us`,
 * or before it within that delay. */
gboolean kubelet_lost_socket(const Kubelet *kubelet, const char *resource, gint64 since_us);

/* Removes the sockets that were there at the start, and at which no process listens now.  An rdmad
 * that waits to take over listens at those of one that was killed. */
void kubelet_remove_stale_sockets(Kubelet *kubelet);
/* The socket was taken over, and is no longer one of an earlier rdmad. */
void kubelet_own_socket(Kubelet *kubelet, const char *path);
/* Returns a path for a new socket that no earlier socket had; g_free(). */
char *kubelet_new_path(Kubelet *kubelet, RegistrationMethod method, const char *resource);

/* Calls GetAllocatableResources of podresources. */
RdmadGrpcRequest *kubelet_ask_allocatable(Kubelet *kubelet, const RdmadGrpcRequestOps *ops,
					  gpointer data);

/* Calls Register; `ops->done` gets the result. */
RdmadGrpcRequest *kubelet_register(Kubelet *kubelet, const char *resource, const char *socket_path,
				   const PluginOptions *options, const RdmadGrpcRequestOps *ops,
				   gpointer data);
