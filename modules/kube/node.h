/* SPDX-License-Identifier: Apache-2.0 */
/* The node's own Node object: each label that the patterns of the configuration select is the
 * attribute "label:<name>". */
#pragma once

#include "client.h"

typedef struct KubeNode KubeNode;

/* Calls `changed` with each version of the Node, and when it is deleted. */
KubeNode *kube_node_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			void (*changed)(gpointer data), gpointer data);
void kube_node_free(KubeNode *node);
/* Restarts the watch with the current settings.  The attributes stay until the watch has the
 * Node. */
void kube_node_reload(KubeNode *node);

/* Updates the Node from the response to another request. */
void kube_node_update(KubeNode *node, const json_t *object);

/* Returns all labels, name -> value, borrowed; NULL: not known yet, or the Node does not exist. */
GHashTable *kube_node_labels(const KubeNode *node);
/* Returns the value of an annotation, borrowed; NULL: it has none, or is not known. */
const char *kube_node_annotation(const KubeNode *node, const char *name);

json_t *kube_node_status(const KubeNode *node);
void kube_node_doctor(const KubeNode *node, json_t *findings);
/* Returns kube_watch_age(). */
double kube_node_age(const KubeNode *node);
