/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubelet, as a node has one: its directories, its socket, and what changes there
 *
 *	<kubelet_dir>/device-plugins/kubelet.sock	plugins call Register here
 *	<kubelet_dir>/plugins_registry/			sockets that kubelet asks by itself
 *	<kubelet_dir>/pod-resources/kubelet.sock	what it gives to pods
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>
#include <rdmad/socket-file.h>

#include "kubelet/server.h"
#include "settings.h"

typedef struct RdmadKubelet RdmadKubelet;

/* `changed` is told when something came or went in one of the directories. */
RdmadKubelet *rdmad_kubelet_new(RdmadModule *self, const RdmadPluginSettings *settings,
				void (*changed)(gpointer data), gpointer data);
void rdmad_kubelet_free(RdmadKubelet *kubelet);
void rdmad_kubelet_configure(RdmadKubelet *kubelet, const RdmadPluginSettings *settings);

/* LEGACY or REGISTRY: which way to register now. */
RdmadRegistrationWay rdmad_kubelet_way(const RdmadKubelet *kubelet);

/* FALSE: there is no kubelet.sock.  Another kubelet has another one. */
gboolean rdmad_kubelet_identify(const RdmadKubelet *kubelet, RdmadSocketFile *file);
/* This very kubelet still listens. */
gboolean rdmad_kubelet_lives(const RdmadKubelet *kubelet, const RdmadSocketFile *file);

/* How long to wait before the first try: an earlier rdmad was killed, and kubelet shall notice the end of its
 * streams before it hears of another, which it would stop instead. */
guint rdmad_kubelet_hold_ms(const RdmadKubelet *kubelet);

/* A path for a new socket of ours, which no other had before; g_free(). */
char *rdmad_kubelet_new_path(RdmadKubelet *kubelet, RdmadRegistrationWay way, const char *resource);

/* Calls GetAllocatableResources of podresources. */
RdmadGrpcRequest *rdmad_kubelet_ask_allocatable(RdmadKubelet *kubelet,
						const RdmadGrpcRequestOps *ops, gpointer data);

/* Calls Register; `ops->done` says how it went. */
RdmadGrpcRequest *rdmad_kubelet_register(RdmadKubelet *kubelet, const char *resource,
					 const char *socket_path, const RdmadPluginOptions *options,
					 const RdmadGrpcRequestOps *ops, gpointer data);
