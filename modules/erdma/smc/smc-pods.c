/* SPDX-License-Identifier: Apache-2.0 */
#include "smc/smc-pods.h"

#include <jansson.h>
#include <rdmad/json.h>
#include <rdmad/module.h>
#include <rdmad/state.h>
#include <rdmad/step.h>
#include <string.h>

#define DEPTH_MAX 4

static const char *const migrations[] = {
	"CREATE TABLE module_erdma_smc_pods (uid TEXT NOT NULL PRIMARY KEY, pod TEXT NOT NULL)"
	" STRICT, WITHOUT ROWID;"
	"CREATE TABLE module_erdma_smc_host (id TEXT NOT NULL PRIMARY KEY, steps TEXT NOT NULL)"
	" STRICT, WITHOUT ROWID",
	NULL,
};

struct ErdmaSmcPods {
	RdmadTables *tables;
	GPtrArray *all;	  /* of ErdmaSmcPod */
	GHashTable *host; /* id -> steps */
};

static const char *const state_names[] = {
	[ERDMA_SMC_BEGUN] = "begun",
	[ERDMA_SMC_TRANSPARENT] = "transparent",
	[ERDMA_SMC_PREPARED] = "prepared",
	[ERDMA_SMC_TCP] = "tcp",
};

const char *erdma_smc_state_name(ErdmaSmcState state)
{
	return state_names[state];
}

void erdma_smc_pod_free(gpointer data)
{
	ErdmaSmcPod *pod = data;

	if (!pod)
		return;
	g_free(pod->uid);
	g_free(pod->name);
	g_free(pod->netns);
	g_free(pod->device);
	g_free(pod->pnetid);
	g_free(pod->interface);
	g_free(pod->reason);
	g_free(pod->steps);
	g_free(pod);
}

ErdmaSmcPod *erdma_smc_pod_copy(const ErdmaSmcPod *pod)
{
	ErdmaSmcPod *copy = g_memdup2(pod, sizeof(*pod));

	copy->uid = g_strdup(pod->uid);
	copy->name = g_strdup(pod->name);
	copy->netns = g_strdup(pod->netns);
	copy->device = g_strdup(pod->device);
	copy->pnetid = g_strdup(pod->pnetid);
	copy->interface = g_strdup(pod->interface);
	copy->reason = g_strdup(pod->reason);
	copy->steps = g_strdup(pod->steps);
	return copy;
}

/* ---- rows ---- */

static char *pod_text(const ErdmaSmcPod *pod)
{
	json_t *json = json_pack("{s:s, s:s, s:I, s:I, s:s?, s:s?, s:s?, s:i, s:s?, s:s?}", "name",
				 pod->name, "netns", pod->netns, "netns_device",
				 (json_int_t)pod->netns_id.device, "netns_inode",
				 (json_int_t)pod->netns_id.inode, "device", pod->device, "pnetid",
				 pod->pnetid, "interface", pod->interface, "state", (int)pod->state,
				 "reason", pod->reason, "steps", pod->steps);

	return rdmad_json_dump(json, JSON_COMPACT) ?: g_strdup("{}");
}

static char *text_of(const json_t *json, const char *key)
{
	return g_strdup(json_string_value(json_object_get(json, key)));
}

static gboolean pod_read(const RdmadRow *row, gpointer data, GError **error)
{
	ErdmaSmcPods *pods = data;
	const char *text = rdmad_row_text(row, 1);
	json_t *json = rdmad_json_parse(text, strlen(text), DEPTH_MAX, NULL);
	const json_int_t state = json_integer_value(json_object_get(json, "state"));
	ErdmaSmcPod *pod = g_new0(ErdmaSmcPod, 1);

	pod->uid = g_strdup(rdmad_row_text(row, 0));
	pod->name = text_of(json, "name");
	pod->netns = text_of(json, "netns");
	pod->netns_id.device = (dev_t)json_integer_value(json_object_get(json, "netns_device"));
	pod->netns_id.inode = (ino_t)json_integer_value(json_object_get(json, "netns_inode"));
	pod->device = text_of(json, "device");
	pod->pnetid = text_of(json, "pnetid");
	pod->interface = text_of(json, "interface");
	pod->reason = text_of(json, "reason");
	pod->steps = text_of(json, "steps");
	pod->state =
		state >= 0 && state < ERDMA_N_SMC_STATES ? (ErdmaSmcState)state : ERDMA_SMC_BEGUN;
	json_decref(json);
	if (pod->name && pod->netns)
		g_ptr_array_add(pods->all, pod);
	else
		erdma_smc_pod_free(pod);
	return TRUE;
}

static gboolean host_read(const RdmadRow *row, gpointer data, GError **error)
{
	ErdmaSmcPods *pods = data;

	g_hash_table_replace(pods->host, g_strdup(rdmad_row_text(row, 0)),
			     g_strdup(rdmad_row_text(row, 1)));
	return TRUE;
}

static gboolean all_put(RdmadTables *tables, gpointer data, GError **error)
{
	ErdmaSmcPods *pods = data;
	GHashTableIter iter;
	gpointer id, steps;

	if (!rdmad_tables_run(tables, "DELETE FROM module_erdma_smc_pods", NULL, 0, error) ||
	    !rdmad_tables_run(tables, "DELETE FROM module_erdma_smc_host", NULL, 0, error))
		return FALSE;
	for (guint i = 0; i < pods->all->len; i++) {
		const ErdmaSmcPod *pod = pods->all->pdata[i];
		g_autofree char *text = pod_text(pod);

		if (!rdmad_tables_run(
			    tables, "INSERT INTO module_erdma_smc_pods (uid, pod) VALUES (?1, ?2)",
			    RDMAD_VALUES(RDMAD_TEXT(pod->uid), RDMAD_TEXT(text)), error))
			return FALSE;
	}
	g_hash_table_iter_init(&iter, pods->host);
	while (g_hash_table_iter_next(&iter, &id, &steps))
		if (!rdmad_tables_run(
			    tables, "INSERT INTO module_erdma_smc_host (id, steps) VALUES (?1, ?2)",
			    RDMAD_VALUES(RDMAD_TEXT(id), RDMAD_TEXT(steps)), error))
			return FALSE;
	return TRUE;
}

static const RdmadTablesClass tables_class = {
	.name = "erdma-smc",
	.migrations = migrations,
	.rewrite = all_put,
};

/* Namespaces and the kernel's tables end with the boot. */
static gboolean pods_write(ErdmaSmcPods *pods, GError **error)
{
	return rdmad_tables_write_for_boot(pods->tables, all_put, pods, error);
}

/* ---- the journal ---- */

ErdmaSmcPods *erdma_smc_pods_open(RdmadModule *self, GError **error)
{
	ErdmaSmcPods *pods = g_new0(ErdmaSmcPods, 1);

	pods->all = g_ptr_array_new_with_free_func(erdma_smc_pod_free);
	pods->host = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	pods->tables =
		rdmad_tables_open(rdmad_module_state(self), self, &tables_class, pods, error);
	if (pods->tables &&
	    rdmad_tables_read(pods->tables, "SELECT uid, pod FROM module_erdma_smc_pods", NULL, 0,
			      pod_read, pods, error) &&
	    rdmad_tables_read(pods->tables, "SELECT id, steps FROM module_erdma_smc_host", NULL, 0,
			      host_read, pods, error))
		return pods;
	erdma_smc_pods_close(pods);
	return NULL;
}

void erdma_smc_pods_close(ErdmaSmcPods *pods)
{
	if (!pods)
		return;
	rdmad_tables_close(pods->tables);
	g_ptr_array_unref(pods->all);
	g_hash_table_unref(pods->host);
	g_free(pods);
}

const GPtrArray *erdma_smc_pods_all(const ErdmaSmcPods *pods)
{
	return pods->all;
}

gboolean erdma_smc_pods_is_empty(const ErdmaSmcPods *pods)
{
	return !pods->all->len && !g_hash_table_size(pods->host);
}

ErdmaSmcPod *erdma_smc_pods_find(const ErdmaSmcPods *pods, const char *uid)
{
	for (guint i = 0; i < pods->all->len; i++) {
		ErdmaSmcPod *pod = pods->all->pdata[i];

		if (g_str_equal(pod->uid, uid))
			return pod;
	}
	return NULL;
}

gboolean erdma_smc_pods_put(ErdmaSmcPods *pods, ErdmaSmcPod *pod, GError **error)
{
	ErdmaSmcPod *before = erdma_smc_pods_find(pods, pod->uid);

	if (before && before != pod)
		g_ptr_array_remove(pods->all, before);
	if (before != pod)
		g_ptr_array_add(pods->all, pod);
	return pods_write(pods, error);
}

gboolean erdma_smc_pods_remove(ErdmaSmcPods *pods, const char *uid, GError **error)
{
	ErdmaSmcPod *pod = erdma_smc_pods_find(pods, uid);

	if (!pod)
		return TRUE;
	g_ptr_array_remove(pods->all, pod);
	return pods_write(pods, error);
}

/* ---- entries of the host ---- */

gboolean erdma_smc_host_add(ErdmaSmcPods *pods, const char *id, const char *step, GError **error)
{
	g_hash_table_replace(pods->host, g_strdup(id), g_strdup(step));
	return pods_write(pods, error);
}

static gboolean pod_needs(const ErdmaSmcPod *pod, const RdmadStep *step)
{
	if (pod->state == ERDMA_SMC_TCP)
		return FALSE;
	return step->smc.eid || (g_strcmp0(pod->pnetid, step->smc.pnetid) == 0 &&
				 g_strcmp0(pod->device, step->smc.device) == 0);
}

static gboolean is_needed(const ErdmaSmcPods *pods, const char *except, const GPtrArray *steps)
{
	for (guint i = 0; i < pods->all->len; i++) {
		const ErdmaSmcPod *pod = pods->all->pdata[i];

		if (g_strcmp0(pod->uid, except) != 0 && pod_needs(pod, steps->pdata[0]))
			return TRUE;
	}
	return FALSE;
}

char **erdma_smc_host_idle(const ErdmaSmcPods *pods, const char *except, GPtrArray *steps)
{
	GPtrArray *ids = g_ptr_array_new();
	GHashTableIter iter;
	gpointer id, text;

	g_hash_table_iter_init(&iter, pods->host);
	while (g_hash_table_iter_next(&iter, &id, &text)) {
		g_autoptr(GPtrArray) own = rdmad_steps_from_text(text, strlen(text), NULL);

		if (own && own->len == 1 && is_needed(pods, except, own))
			continue;
		g_ptr_array_add(ids, g_strdup(id));
		if (own && steps)
			g_ptr_array_extend_and_steal(steps, g_steal_pointer(&own));
	}
	g_ptr_array_add(ids, NULL);
	return (char **)g_ptr_array_free(ids, FALSE);
}

gboolean erdma_smc_host_remove(ErdmaSmcPods *pods, char *const *ids, GError **error)
{
	gboolean changed = FALSE;

	for (; *ids; ids++)
		changed |= g_hash_table_remove(pods->host, *ids);
	return !changed || pods_write(pods, error);
}
