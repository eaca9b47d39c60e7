/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels that rdmad sets on the Node
 *
 *	<prefix>capable = "true"
 *	<prefix>link-layer.ethernet = "true", <prefix>link-layer.infiniband = "true"
 *	<prefix>rails = "8"
 *	<prefix>mode.<resource> = "exclusive"
 *
 * They count devices that are away, too.  Other labels below the prefix are not changed.
 */
#pragma once

#include "away.h"
#include "node.h"

typedef struct KubePublish KubePublish;

KubePublish *kube_publish_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			      KubeAway *away);
void kube_publish_free(KubePublish *publish);
/* Compares the Node's labels with the present state, and patches the differences. */
void kube_publish_update(KubePublish *publish, KubeNode *node);
json_t *kube_publish_status(const KubePublish *publish);
void kube_publish_doctor(const KubePublish *publish, json_t *findings);

/* ---- pure ---- */

/* Returns the name of the label for the mode of a resource: "mode.rdma.hca" for "rdma/hca";
 * g_free(). */
char *kube_publish_mode_key(const char *resource);
/* Returns the changes, name -> text, or null for a label to be removed; NULL: none.  `labels` are the
 * Node's; the names in `wanted` lack the prefix. */
json_t *kube_publish_difference(const char *prefix, GHashTable *labels, GHashTable *wanted);
