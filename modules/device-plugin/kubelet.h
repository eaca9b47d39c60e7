/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubelet, as a node has one: its folders, its socket, and what changes there
 *
 *	<kubelet_dir>/device-plugins/kubelet.sock	plugins call Register here
 *	<kubelet_dir>/plugins_registry/			sockets that kubelet asks by itself
 */
#pragma once

#include <rdmad/grpc.h>
#include <rdmad/module.h>
#include <sys/types.h>

#include "plugin-server.h"
#include "settings.h"

typedef struct RdmadKubelet RdmadKubelet;

/* `changed` is told when something came or went in one of the folders. */
RdmadKubelet *rdmad_kubelet_new(RdmadModule *self, const RdmadPluginSettings *settings,
				void (*changed)(gpointer data), gpointer data);
void rdmad_kubelet_free(RdmadKubelet *kubelet);
void rdmad_kubelet_configure(RdmadKubelet *kubelet, const RdmadPluginSettings *settings);

/* LEGACY or REGISTRY: which way to register now. */
RdmadRegistrationWay rdmad_kubelet_way(const RdmadKubelet *kubelet);

/* One running kubelet: another has another socket. */
typedef struct {
	dev_t device;
	ino_t inode;
	gint64 changed_ns;
} RdmadKubeletIdentity;

/* FALSE: there is no kubelet.sock. */
gboolean rdmad_kubelet_identify(const RdmadKubelet *kubelet, RdmadKubeletIdentity *identity);
gboolean rdmad_kubelet_identity_equal(const RdmadKubeletIdentity *a, const RdmadKubeletIdentity *b);

/* A path for a new socket of ours, which no other had before; g_free(). */
char *rdmad_kubelet_new_path(RdmadKubelet *kubelet, RdmadRegistrationWay way, const char *resource);

/* Calls Register; `ops->done` says how it went. */
RdmadGrpcRequest *rdmad_kubelet_register(RdmadKubelet *kubelet, const char *resource,
					 const char *socket_path, const RdmadPluginOptions *options,
					 const RdmadGrpcRequestOps *ops, gpointer data);
