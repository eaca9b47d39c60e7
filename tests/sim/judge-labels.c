/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of module kube: the Node has the labels that describe this machine, and no others of
 * rdmad. */
#include "apiserver.h"
#include "judge.h"
#include "machine.h"
#include "node.h"

#define PREFIX "rdmad.io/"

static void label_check(const char *key, const char *wanted)
{
	g_autofree char *name = g_strconcat(PREFIX, key, NULL);
	const char *value = g_hash_table_lookup(apiserver_labels(), name);

	if (g_strcmp0(value, wanted))
		judge_fails("the Node has another label: %s is %s", name, value ? value : "absent");
}

static void mode_check(const NodeResource *resource)
{
	g_autofree char *key = g_strconcat("mode.", resource->name, NULL);

	g_strdelimit(key, "/", '.');
	if (resource->devices)
		label_check(key, resource->is_exclusive ? "exclusive" : "shared");
}

static guint labels_count(void)
{
	GHashTableIter iter;
	gpointer name;
	guint n = 0;

	g_hash_table_iter_init(&iter, apiserver_labels());
	while (g_hash_table_iter_next(&iter, &name, NULL))
		n += g_str_has_prefix(name, PREFIX);
	return n;
}

void judge_labels_quiet(void)
{
	g_autofree char *rails = g_strdup_printf("%u", MACHINE_DEVICES);
	const struct {
		const char *key, *value;
	} wanted[] = {
		{ "capable", "true" },
		{ "link-layer.ethernet", "true" },
		{ "rails", rails },
	};

	if (!node_has(NODE_KUBE))
		return;
	for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
		label_check(wanted[i].key, wanted[i].value);
	for (guint i = 0; i < NODE_RESOURCES; i++)
		mode_check(&node_resources[i]);
	if (labels_count() > G_N_ELEMENTS(wanted) + node_resources_offered())
		judge_fails("the Node keeps labels that rdmad no longer wants: %u", labels_count());
}
