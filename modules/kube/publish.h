/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels that rdmad sets on the Node
 *
 *	<prefix>capable = "true"
 *	<prefix>link-layer.ethernet = "true", <prefix>link-layer.infiniband = "true"
 *	<prefix>rails = "8"
 *	<prefix>mode.<resource> = "exclusive"
 *
 * They count devices in pods, too.  The annotation rdmad.io/labels of the Node lists their
 * names: a listed label that is not wanted any more, for example because the prefix is another one,
 * is removed. Other labels, below the prefix too, are not changed.
 */
#pragma once

#include "node.h"

typedef struct KubePublish KubePublish;

KubePublish *kube_publish_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings);
void kube_publish_free(KubePublish *publish);
/* Compares the Node's labels with the present state, and patches the differences. */
void kube_publish_update(KubePublish *publish, KubeNode *node);
json_t *kube_publish_status(const KubePublish *publish);
void kube_publish_doctor(const KubePublish *publish, json_t *findings);

/* ---- pure ---- */

/* Returns the name of the label for the mode of a resource: "mode.rdma.hca" for "rdma/hca";
 * g_free(). */
char *kube_publish_mode_key(const char *resource);
/* Returns the patch of the Node; NULL: none is due.  `prefix` NULL: only labels that the annotation
 * `owned` lists are ours.  `labels`, the Node's, and `wanted` are tables name -> value. */
json_t *kube_publish_patch(const char *prefix, GHashTable *labels, const char *owned,
			   GHashTable *wanted);
