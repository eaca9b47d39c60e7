/* SPDX-License-Identifier: Apache-2.0 */
#include "publish.h"

#include <rdmad/attributes.h>
#include <rdmad/device.h>
#include <rdmad/doctor.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>

#define KEY_MAX	     63u /* maximum length of a label's name and value */
#define MODE_PREFIX  "mode:"
#define LAYER_PREFIX "link-layer."
#define OWNED	     "rdmad.io/labels" /* the annotation: our labels' names, with blanks between */
/* Turns of the loop from a label of the Node to the mode that follows it: the watchers of the
 * label's attribute, those of the mode's, and one because timers of one turn have no order. */
#define SETTLE_TURNS 3u

struct KubePublish {
	RdmadModule *self;
	KubeClient *client;
	const KubeSettings *settings;
	RdmadWatch *devices, *attributes;
	GHashTable *modes; /* key -> value */
	gboolean is_scanned;
	KubeNode *node; /* NULL: not known yet */
	KubeCall *call;
	RdmadEvent *pause;  /* armed: no request until it expires */
	RdmadEvent *settle; /* armed: changes have consequences that are not here yet */
	guint turns;	    /* until these are here */
	guint failures;
	guint patched;
	KubeProblem *problem;
};

/* ---- pure ---- */

char *kube_publish_mode_key(const char *resource)
{
	char *key = g_strconcat("mode.", resource, NULL);

	for (char *c = key; *c; c++)
		if (!g_ascii_isalnum(*c) && *c != '-' && *c != '_')
			*c = '.';
	if (strlen(key) > KEY_MAX)
		key[KEY_MAX] = '\0';
	for (gsize n = strlen(key); n && !g_ascii_isalnum(key[n - 1]); n--)
		key[n - 1] = '\0';
	return key;
}

static gboolean key_is_ours(const char *key)
{
	return g_str_equal(key, "capable") || g_str_equal(key, "rails") ||
	       g_str_has_prefix(key, "link-layer.") || g_str_has_prefix(key, "mode.");
}

/* Returns the key of a label that rdmad set; NULL: it is another's. */
static const char *own_key(const char *prefix, const char *const *owned, const char *name)
{
	const char *slash = strchr(name, '/');

	if (!slash || !key_is_ours(slash + 1))
		return NULL;
	return (prefix && g_str_has_prefix(name, prefix)) || g_strv_contains(owned, name)
		       ? slash + 1
		       : NULL;
}

static char **owned_split(const char *owned)
{
	return g_strsplit(owned ? owned : "", " ", -1);
}

static char *owned_of(GHashTable *wanted)
{
	GList *names = g_list_sort(g_hash_table_get_keys(wanted), (GCompareFunc)g_strcmp0);
	GString *owned = g_string_new(NULL);

	for (const GList *l = names; l; l = l->next)
		g_string_append_printf(owned, "%s%s", owned->len ? " " : "", (char *)l->data);
	g_list_free(names);
	return g_string_free(owned, FALSE);
}

static json_t *labels_difference(const char *prefix, GHashTable *labels, const char *owned,
				 GHashTable *wanted)
{
	g_auto(GStrv) names = owned_split(owned);
	json_t *difference = json_object();
	GHashTableIter iter;
	gpointer name, value;

	g_hash_table_iter_init(&iter, wanted);
	while (g_hash_table_iter_next(&iter, &name, &value))
		if (g_strcmp0(g_hash_table_lookup(labels, name), value))
			json_object_set_new(difference, name, json_string(value));
	g_hash_table_iter_init(&iter, labels);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		if (!g_hash_table_contains(wanted, name) &&
		    own_key(prefix, (const char *const *)names, name))
			json_object_set_new(difference, name, json_null());
	return difference;
}

json_t *kube_publish_patch(const char *prefix, GHashTable *labels, const char *owned,
			   GHashTable *wanted)
{
	json_t *difference = labels_difference(prefix, labels, owned, wanted);
	g_autofree char *owns = owned_of(wanted);
	json_t *metadata = json_object();

	if (json_object_size(difference))
		json_object_set(metadata, "labels", difference);
	json_decref(difference);
	if (g_strcmp0(owned ? owned : "", owns))
		json_object_set_new(metadata, "annotations",
				    json_pack("{s:s?}", OWNED, *owns ? owns : NULL));
	if (json_object_size(metadata))
		return json_pack("{s:o}", "metadata", metadata);
	json_decref(metadata);
	return NULL;
}

/* ---- the present labels ---- */

static gboolean is_rail(const KubePublish *publish, const RdmadDevice *device)
{
	return device->pci_role != RDMAD_PCI_VF && !device->aux_name &&
	       rdmad_config_patterns_match(publish->settings->rails, device->name);
}

typedef struct {
	const KubePublish *publish;
	GHashTable *labels; /* name -> value */
	guint rails;
} Wanted;

static void label_add(const Wanted *all, const char *key, const char *value)
{
	g_hash_table_insert(all->labels, g_strconcat(all->publish->settings->prefix, key, NULL),
			    g_strdup(value));
}

static void device_count(Wanted *all, const RdmadDevice *device)
{
	if (rdmad_device_role(device) != RDMAD_ROLE_NIC)
		return;
	label_add(all, "capable", "true");
	all->rails += is_rail(all->publish, device);
	for (guint p = 0; p < device->n_ports; p++) {
		const RdmadLinkLayer layer = device->ports[p].link_layer;
		g_autofree char *name =
			g_strconcat(LAYER_PREFIX, rdmad_link_layer_name(layer), NULL);

		if (layer != RDMAD_LINK_LAYER_UNKNOWN)
			label_add(all, name, "true");
	}
}

static void away_count(const RdmadAwayDevice *away, gpointer data)
{
	device_count(data, away->device);
}

static GHashTable *labels_wanted(const KubePublish *publish)
{
	RdmadInventory *inventory = rdmad_module_inventory(publish->self);
	Wanted all = { publish, g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free), 0 };
	g_autofree char *count = NULL;
	GHashTableIter iter;
	gpointer key, value;

	if (!publish->settings->publish)
		return all.labels;
	for (guint i = 0; i < rdmad_inventory_count(inventory); i++)
		device_count(&all, rdmad_inventory_nth(inventory, i));
	rdmad_inventory_foreach_away(inventory, away_count, &all);
	count = g_strdup_printf("%u", all.rails);
	if (all.rails)
		label_add(&all, "rails", count);
	g_hash_table_iter_init(&iter, publish->modes);
	while (g_hash_table_iter_next(&iter, &key, &value))
		label_add(&all, key, value);
	return all.labels;
}

/* ---- the request ---- */

static void publish_soon(KubePublish *publish)
{
	publish->turns = SETTLE_TURNS;
	rdmad_event_arm(publish->settle, 0);
}

/* Nothing is due. */
static void publish_settle(KubePublish *publish)
{
	publish->failures = 0;
	kube_problem_clear(publish->problem);
}

static void patch_done(const KubeResult *result, gpointer data)
{
	KubePublish *publish = data;
	guint ms = (guint)publish->settings->publish_interval_ms;

	publish->call = NULL;
	if (result->error) {
		kube_problem_set(publish->problem, result->status, result->error);
		publish->failures++;
		ms = MAX(ms, kube_client_back_off_ms(publish->client, publish->failures,
						     result->retry_after_ms));
	} else {
		publish_settle(publish);
		publish->patched++;
	}
	rdmad_event_arm(publish->pause, ms);
	/* The response updates the Node, because the watch may lag and the same patch would be
	 * repeated. */
	if (result->object)
		kube_node_update(publish->node, result->object);
	/* The watch may have shown meanwhile that a lost response was to a request that took
	 * effect. */
	publish_soon(publish);
}

static const KubeCallClass patch_class = { .verb = "patch", .method = "PATCH", .done = patch_done };

static void publish_send(KubePublish *publish, const json_t *patch)
{
	g_autofree char *path =
		g_strconcat("/api/v1/nodes/", publish->settings->node, "?fieldManager=rdmad", NULL);

	publish->call = kube_client_call(publish->client, &patch_class, path, patch, publish);
}

/* Returns NULL if nothing is to be changed. */
static json_t *patch_due(const KubePublish *publish)
{
	const KubeSettings *settings = publish->settings;
	GHashTable *labels = publish->node ? kube_node_labels(publish->node) : NULL;
	g_autoptr(GHashTable) wanted = NULL;

	if (!labels)
		return NULL;
	wanted = labels_wanted(publish);
	return kube_publish_patch(settings->publish ? settings->prefix : NULL, labels,
				  kube_node_annotation(publish->node, OWNED), wanted);
}

/* Before the first scan the inventory is empty, which must not remove labels. */
static void publish_try(KubePublish *publish)
{
	json_t *patch;

	if (!publish->is_scanned || publish->call)
		return;
	patch = patch_due(publish);
	if (!patch)
		publish_settle(publish);
	else if (!rdmad_event_armed(publish->pause))
		publish_send(publish, patch);
	json_decref(patch);
}

static void pause_expired(gpointer data)
{
	publish_soon(data);
}

static void turn_passed(gpointer data)
{
	KubePublish *publish = data;

	if (--publish->turns)
		rdmad_event_arm(publish->settle, 0);
	else
		publish_try(publish);
}

void kube_publish_update(KubePublish *publish, KubeNode *node)
{
	publish->node = node;
	publish_soon(publish);
}

/* ---- changes ---- */

static void devices_settled(gpointer data)
{
	KubePublish *publish = data;

	publish->is_scanned = TRUE;
	publish_soon(publish);
}

static const RdmadInventoryOps device_ops = { .settled = devices_settled };

static void attribute_changed(const char *name, const char *value, gpointer data)
{
	KubePublish *publish = data;
	g_autofree char *key = NULL;

	if (!g_str_has_prefix(name, MODE_PREFIX))
		return;
	key = kube_publish_mode_key(name + strlen(MODE_PREFIX));
	if (value && *value && strlen(value) <= KEY_MAX)
		g_hash_table_insert(publish->modes, g_steal_pointer(&key), g_strdup(value));
	else
		g_hash_table_remove(publish->modes, key);
	publish_soon(publish);
}

KubePublish *kube_publish_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings)
{
	KubePublish *publish = g_new0(KubePublish, 1);

	publish->self = self;
	publish->client = client;
	publish->settings = settings;
	publish->modes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	publish->problem = kube_problem_new(client);
	publish->pause =
		rdmad_loop_add_timer(rdmad_module_loop(self), self, pause_expired, publish);
	publish->settle = rdmad_loop_add_timer(rdmad_module_loop(self), self, turn_passed, publish);
	publish->devices =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &device_ops, publish);
	publish->attributes = rdmad_attributes_watch(rdmad_module_attributes(self), self, NULL,
						     attribute_changed, publish);
	return publish;
}

void kube_publish_free(KubePublish *publish)
{
	if (!publish)
		return;
	rdmad_watch_free(publish->devices);
	rdmad_watch_free(publish->attributes);
	kube_call_cancel(publish->call);
	rdmad_event_free(publish->pause);
	rdmad_event_free(publish->settle);
	g_hash_table_unref(publish->modes);
	kube_problem_free(publish->problem);
	g_free(publish);
}

json_t *kube_publish_status(const KubePublish *publish)
{
	g_autoptr(GHashTable) wanted = labels_wanted(publish);
	json_t *labels = json_object();
	GHashTableIter iter;
	gpointer name, value;

	g_hash_table_iter_init(&iter, wanted);
	while (g_hash_table_iter_next(&iter, &name, &value))
		json_object_set_new(labels, name, json_string(value));
	return json_pack("{s:b, s:o, s:i, s:s?}", "enabled", publish->settings->publish, "labels",
			 labels, "patches", (int)publish->patched, "error",
			 kube_problem_text(publish->problem));
}

void kube_publish_doctor(const KubePublish *publish, json_t *findings)
{
	kube_problem_doctor(publish->problem, "node labels",
			    "the service account needs patch on nodes (also to take labels away), "
			    "or set publish = false",
			    findings);
}
