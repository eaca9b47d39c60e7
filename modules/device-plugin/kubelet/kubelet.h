/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's kubelet: its directories, its socket, and their changes
 *
 *	<kubelet_dir>/device-plugins/kubelet.sock	plugins call Register here
 *	<kubelet_dir>/plugins_registry/			sockets that kubelet connects to by itself
 *	<kubelet_dir>/pod-resources/kubelet.sock	what it gives to pods
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>
#include <rdmad/socket-file.h>

#include "kubelet/server.h"
#include "settings.h"

typedef struct Kubelet Kubelet;

/* `changed` is called when a file appears or goes in one of the directories. */
Kubelet *kubelet_new(RdmadModule *self, const PluginSettings *settings,
		     void (*changed)(gpointer data), gpointer data);
void kubelet_free(Kubelet *kubelet);
void kubelet_configure(Kubelet *kubelet, const PluginSettings *settings);

/* LEGACY or REGISTRY: which way to register now. */
RegistrationWay kubelet_way(const Kubelet *kubelet);

/* FALSE: there is no kubelet.sock.  Another kubelet has another one. */
gboolean kubelet_identify(const Kubelet *kubelet, RdmadSocketFile *file);
/* There is none: a fact, and not an error that may pass. */
gboolean kubelet_is_away(const Kubelet *kubelet);
/* This very kubelet still listens, or nothing says that it does not. */
gboolean kubelet_lives(const Kubelet *kubelet, const RdmadSocketFile *file);

/* How long to wait before the first try: an earlier rdmad was killed, and kubelet must notice the
 * end of its streams before another one registers, which it would stop instead. */
guint kubelet_hold_ms(const Kubelet *kubelet);

/* A path for a new socket of ours, which no other had before; g_free(). */
char *kubelet_new_path(Kubelet *kubelet, RegistrationWay way, const char *resource);

/* Calls GetAllocatableResources of podresources. */
RdmadGrpcRequest *kubelet_ask_allocatable(Kubelet *kubelet, const RdmadGrpcRequestOps *ops,
					  gpointer data);

/* Calls Register; `ops->done` gets the result. */
RdmadGrpcRequest *kubelet_register(Kubelet *kubelet, const char *resource, const char *socket_path,
				   const PluginOptions *options, const RdmadGrpcRequestOps *ops,
				   gpointer data);
