/* SPDX-License-Identifier: Apache-2.0 */
/* The own Node: its labels, each as the attribute "label:<name>". */
#pragma once

#include "client.h"

typedef struct KubeNode KubeNode;

/* `changed` is called after each change of the labels. */
KubeNode *kube_node_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			void (*changed)(gpointer data), gpointer data);
void kube_node_free(KubeNode *node);
/* Begins again with what the settings hold now; the attributes stay until then. */
void kube_node_reload(KubeNode *node);

/* Takes the Node from an answer of the API server to another request. */
void kube_node_learn(KubeNode *node, const json_t *object);

/* All labels, name -> value; NULL: not known yet, or there is no such Node now. */
GHashTable *kube_node_labels(const KubeNode *node);

json_t *kube_node_status(const KubeNode *node);
void kube_node_doctor(const KubeNode *node, json_t *findings);
/* Of the watch, in seconds; -1: never heard of. */
double kube_node_age(const KubeNode *node);
