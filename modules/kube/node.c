/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <rdmad/attributes.h>
#include <rdmad/doctor.h>
#include <rdmad/log.h>

#include "object.h"
#include "watch.h"

struct KubeNode {
	RdmadModule *self;
	KubeClient *client;
	const KubeSettings *settings;
	KubeWatch *watch;
	GHashTable *labels;	 /* of the Node; NULL: unknown */
	GHashTable *annotations; /* likewise */
	GHashTable *attributes;	 /* names of the attributes set */
	gboolean is_missing;
	void (*changed)(gpointer data);
	gpointer data;
};

static void attribute_set(KubeNode *node, const char *name, const char *value)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_attributes_set(rdmad_module_attributes(node->self), node->self, name, value,
				  &error))
		rdmad_warn("label %s: %s", name, error->message);
}

static void attributes_update(KubeNode *node)
{
	g_autoptr(GHashTable) now = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, node->labels);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		char *name = g_strconcat("label:", key, NULL);

		if (!rdmad_config_patterns_match(node->settings->labels, key)) {
			g_free(name);
			continue;
		}
		attribute_set(node, name, value);
		g_hash_table_add(now, name);
	}
	g_hash_table_iter_init(&iter, node->attributes);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		if (!g_hash_table_contains(now, key))
			attribute_set(node, key, NULL);
	g_hash_table_unref(node->attributes);
	node->attributes = g_steal_pointer(&now);
}

/* The labels and annotations are unknown until the next list. */
static void node_forget(KubeNode *node)
{
	g_clear_pointer(&node->labels, g_hash_table_unref);
	g_clear_pointer(&node->annotations, g_hash_table_unref);
}

static void node_changed(const json_t *object, gpointer data)
{
	KubeNode *node = data;

	if (g_strcmp0(kube_object_text(object, "name"), node->settings->node)) {
		rdmad_warn("the API server gives another Node than %s", node->settings->node);
		return;
	}
	node_forget(node);
	node->labels = kube_object_map(object, "labels");
	node->annotations = kube_object_map(object, "annotations");
	node->is_missing = FALSE;
	attributes_update(node);
	node->changed(node->data);
}

void kube_node_update(KubeNode *node, const json_t *object)
{
	kube_watch_update(node->watch, object);
}

/* kubelet makes a deleted Node again; the attributes stay until then. */
static void node_removed(gpointer data)
{
	KubeNode *node = data;

	if (!node->is_missing)
		rdmad_warn("the API server has no Node %s", node->settings->node);
	node->is_missing = TRUE;
	node_forget(node);
	node->changed(node->data);
}

static const KubeWatchClass watch_class = {
	.path = "/api/v1/nodes",
	.resource = "nodes",
	.changed = node_changed,
	.removed = node_removed,
};

static void watch_start(KubeNode *node)
{
	g_autofree char *selector = g_strconcat("metadata.name=", node->settings->node, NULL);

	node->watch = kube_watch_new(node->self, node->client, node->settings, &watch_class,
				     selector, node);
}

void kube_node_reload(KubeNode *node)
{
	kube_watch_free(node->watch);
	node_forget(node);
	watch_start(node);
}

KubeNode *kube_node_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			void (*changed)(gpointer data), gpointer data)
{
	KubeNode *node = g_new0(KubeNode, 1);

	node->self = self;
	node->client = client;
	node->settings = settings;
	node->changed = changed;
	node->data = data;
	node->attributes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	watch_start(node);
	return node;
}

void kube_node_free(KubeNode *node)
{
	GHashTableIter iter;
	gpointer name;

	if (!node)
		return;
	kube_watch_free(node->watch);
	g_hash_table_iter_init(&iter, node->attributes);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		attribute_set(node, name, NULL);
	g_hash_table_unref(node->attributes);
	node_forget(node);
	g_free(node);
}

GHashTable *kube_node_labels(const KubeNode *node)
{
	return node->labels;
}

const char *kube_node_annotation(const KubeNode *node, const char *name)
{
	return node->annotations ? g_hash_table_lookup(node->annotations, name) : NULL;
}

double kube_node_age(const KubeNode *node)
{
	return kube_watch_age(node->watch);
}

json_t *kube_node_status(const KubeNode *node)
{
	return json_pack("{s:s, s:b, s:i, s:o}", "name", node->settings->node, "known",
			 node->labels != NULL, "labels", (int)g_hash_table_size(node->attributes),
			 "watch", kube_watch_status(node->watch));
}

void kube_node_doctor(const KubeNode *node, json_t *findings)
{
	const KubeProblem *problem = kube_watch_problem(node->watch);
	g_autofree char *text = NULL;

	kube_problem_doctor(problem, "watch of the Node",
			    "the service account needs list and watch on nodes: rdmad-kube(7)",
			    findings);
	if (node->is_missing) {
		text = g_strdup_printf("the API server has no Node %s", node->settings->node);
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, "Node", text,
				 "set node, or NODE_NAME to spec.nodeName");
	} else if (!kube_problem_text(problem)) {
		text = g_strdup_printf("%s has %u labels", node->settings->node,
				       g_hash_table_size(node->attributes));
		rdmad_doctor_add(findings, RDMAD_FINDING_OK, "Node", text, NULL);
	}
}
