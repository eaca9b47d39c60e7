/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels that the Node gets
 *
 *	<prefix>capable = "true"
 *	<prefix>link-layer.ethernet = "true", <prefix>link-layer.infiniband = "true"
 *	<prefix>rails = "8"
 *	<prefix>mode.<resource> = "exclusive"
 *
 * Others below the prefix are left alone.
 */
#pragma once

#include "node.h"

typedef struct KubePublish KubePublish;

KubePublish *kube_publish_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings);
void kube_publish_free(KubePublish *publish);
/* Compares the Node with what is true, and patches what differs. */
void kube_publish_look(KubePublish *publish, KubeNode *node);
json_t *kube_publish_status(const KubePublish *publish);
void kube_publish_doctor(const KubePublish *publish, json_t *findings);

/* ---- pure ---- */

/* The name of a label for the mode of a resource: "mode.rdma.hca" for "rdma/hca"; g_free(). */
char *kube_publish_mode_key(const char *resource);
/* The changes: name -> text or null, NULL: none.  `labels` is the Node's, `wanted` without the
 * prefix. */
json_t *kube_publish_difference(const char *prefix, GHashTable *labels, GHashTable *wanted);
