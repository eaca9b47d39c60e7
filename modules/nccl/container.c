/* SPDX-License-Identifier: Apache-2.0 */
#include "container.h"

#include <rdmad/allocation-dir.h>
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <string.h>

#include "view-allocations.h"
#include "write.h"

#define CONF_MAX	 (64u * 1024)
#define FILE_MAX	 (16u << 20) /* plan.json of many ports with full tables */
#define GENERATION_LABEL "; generation "

char *nccl_container_key(const RdmadAllocation *allocation)
{
	if (!allocation->pod_name)
		return g_strdup(allocation->id);
	return g_strdup_printf("%s/%s/%s", allocation->pod_namespace, allocation->pod_name,
			       allocation->container);
}

NcclContainer *nccl_container_new(void)
{
	NcclContainer *container = g_new0(NcclContainer, 1);

	container->allocations =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_allocation_unref);
	return container;
}

void nccl_container_free(NcclContainer *container)
{
	g_clear_pointer(&container->plan, nccl_plan_free);
	g_clear_pointer(&container->view, nccl_view_free);
	g_clear_pointer(&container->first, nccl_env_free);
	g_clear_pointer(&container->look, nccl_look_free);
	g_ptr_array_unref(container->allocations);
	g_free(container->problem);
	g_free(container);
}

const RdmadAllocation *nccl_container_named(const NcclContainer *container)
{
	const RdmadAllocation *first =
		container->allocations->len ? container->allocations->pdata[0] : NULL;

	return first && first->pod_name ? first : NULL;
}

/* ---- the plan on the disk ---- */

static void conf_line_parse(NcclDiskPlan *plan, const char *line)
{
	const char *label = line[0] == '#' ? strstr(line, GENERATION_LABEL) : NULL;
	const char *equals = strchr(line, '=');

	if (label)
		plan->generation = g_ascii_strtoull(label + strlen(GENERATION_LABEL), NULL, 10);
	plan->refused = plan->refused || g_str_has_prefix(line, NCCL_CONF_REFUSED);
	if (line[0] != '#' && equals) {
		g_autofree char *name = g_strndup(line, equals - line);

		nccl_env_set(plan->env, name, equals + 1, "");
	}
}

/* The next update replaces an unreadable file. */
NcclDiskPlan *nccl_disk_plan_read(const char *run_dir, const char *allocation)
{
	g_autofree char *text =
		rdmad_allocation_dir_read(run_dir, allocation, NCCL_CONF_FILE, CONF_MAX, NULL);
	g_auto(GStrv) lines = text ? g_strsplit(text, "\n", -1) : NULL;
	NcclDiskPlan *plan = g_new0(NcclDiskPlan, 1);

	plan->env = nccl_env_new();
	for (guint i = 0; lines && lines[i]; i++)
		conf_line_parse(plan, lines[i]);
	return plan;
}

void nccl_disk_plan_free(NcclDiskPlan *plan)
{
	nccl_env_free(plan->env);
	g_free(plan);
}

/* ---- files ---- */

typedef struct {
	const char *name;
	GBytes *bytes;
} File;

static void file_clear(gpointer data)
{
	File *file = data;

	g_bytes_unref(file->bytes);
}

/* Takes ownership of `text`. */
static void files_add(GArray *files, const char *name, char *text)
{
	const File file = { name, g_bytes_new_take(text, strlen(text)) };

	g_array_append_val(files, file);
}

/* Returns the files of one allocation, of File.  nccl.conf is last: its generation marks the set as
 * complete. */
static GArray *container_files(const NcclContainer *container, const NcclSettings *settings,
			       const NcclPlanLabel *label)
{
	GArray *files = g_array_new(FALSE, FALSE, sizeof(File));

	g_array_set_clear_func(files, file_clear);
	if (settings->policy.topo_file)
		files_add(files, NCCL_TOPOLOGY_FILE,
			  nccl_write_topology(container->view, container->plan));
	if (settings->env_plugin) {
		const File plugin = { NCCL_PLUGIN_FILE, g_bytes_ref(settings->env_plugin) };

		g_array_append_val(files, plugin);
	}
	files_add(files, NCCL_PLAN_FILE,
		  nccl_write_json_text(container->view, &settings->policy, container->plan, label));
	files_add(files, NCCL_VERSIONS_FILE,
		  nccl_write_versions(container->view, &settings->policy, label));
	files_add(files, NCCL_ENV_FILE, nccl_write_sh(container->plan, label));
	files_add(files, NCCL_CONF_FILE, nccl_write_conf(container->plan, label));
	return files;
}

/* Returns FALSE if the write must be retried.  A missing directory is no problem: the allocation is
 * about to end, or the module that makes the directory logs why it is missing. */
static gboolean container_write(NcclContainer *container, const NcclSettings *settings,
				const char *run_dir, const char *id)
{
	const NcclPlanLabel label = { id, container->generation };
	g_autoptr(GArray) files = container_files(container, settings, &label);

	for (guint i = 0; i < files->len; i++) {
		const File *file = &g_array_index(files, File, i);
		g_autoptr(GError) error = NULL;

		if (rdmad_allocation_dir_write_bytes(run_dir, id, file->name, file->bytes, &error))
			continue;
		if (!container->problem &&
		    !g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
			container->problem = g_strdup_printf("allocation %s: %s: %s", id,
							     file->name, error->message);
		return FALSE;
	}
	return TRUE;
}

/* Returns whether the directory has these files already.  The plugin is written once, because a job
 * may be using it. */
static gboolean disk_has_files(const NcclContainer *container, const NcclSettings *settings,
			       const char *run_dir, const char *id, guint64 generation)
{
	const NcclPlanLabel label = { id, generation };
	g_autoptr(GArray) files = container_files(container, settings, &label);

	for (guint i = 0; i < files->len; i++) {
		const File *file = &g_array_index(files, File, i);
		const gsize size = g_bytes_get_size(file->bytes);
		g_autofree char *text = NULL;

		if (g_str_equal(file->name, NCCL_PLUGIN_FILE)) {
			if (!rdmad_allocation_dir_has(run_dir, id, file->name, NULL))
				return FALSE;
			continue;
		}
		text = rdmad_allocation_dir_read(run_dir, id, file->name, FILE_MAX, NULL);
		if (!text || strlen(text) != size ||
		    memcmp(text, g_bytes_get_data(file->bytes, NULL), size) != 0)
			return FALSE;
	}
	return TRUE;
}

/* ---- update ---- */

static gboolean entries_equal(const NcclViewDevice *a, const NcclViewDevice *b)
{
	return a->device == b->device && !memcmp(a->left_out, b->left_out, sizeof(a->left_out));
}

/* Equal snapshots and equal addresses give the same plan. */
static gboolean views_equal(const NcclView *a, const NcclView *b)
{
	if (!a || a->devices->len != b->devices->len || a->gpus->len != b->gpus->len ||
	    !a->addresses != !b->addresses ||
	    (a->addresses && !nccl_addresses_equal(a->addresses, b->addresses)) ||
	    !g_strv_equal((const char *const *)a->default_netdevs,
			  (const char *const *)b->default_netdevs))
		return FALSE;
	for (guint i = 0; i < a->devices->len; i++)
		if (!entries_equal(nccl_view_device(a, i), nccl_view_device(b, i)))
			return FALSE;
	return TRUE;
}

static void container_plan(NcclContainer *container, NcclView *view, const NcclSettings *settings)
{
	g_clear_pointer(&container->plan, nccl_plan_free);
	g_clear_pointer(&container->view, nccl_view_free);
	container->view = view;
	container->plan = nccl_plan_new(view, settings->versions, &settings->policy);
	if (settings->version_warning)
		nccl_plan_warn(container->plan, "%s", settings->version_warning);
}

static void container_set_first(NcclContainer *container, const NcclEnv *env)
{
	g_clear_pointer(&container->first, nccl_env_free);
	container->first = nccl_env_copy(env);
}

/* Remembers the settings that the job has read or will read: those of an earlier rdmad, else the
 * first of this one. */
static void container_remember(NcclContainer *container, const NcclDiskPlan *disk)
{
	if (container->started && container->first)
		return;
	if (container->started && disk && !disk->refused)
		container_set_first(container, disk->env);
	else if (!container->plan->refusal)
		container_set_first(container, container->plan->env);
}

void nccl_container_start(NcclContainer *container)
{
	container->started = TRUE;
	if (container->plan && !container->plan->refusal)
		container_set_first(container, container->plan->env);
}

/* Returns the newest plan in the directories of the allocations; NULL: none. */
static NcclDiskPlan *container_disk_plan(const NcclContainer *container, const char *run_dir)
{
	g_autoptr(NcclDiskPlan) newest = NULL;

	for (guint i = 0; i < container->allocations->len; i++) {
		const RdmadAllocation *allocation = container->allocations->pdata[i];
		g_autoptr(NcclDiskPlan) disk = nccl_disk_plan_read(run_dir, allocation->id);

		if (disk->generation <= (newest ? newest->generation : 0))
			continue;
		g_clear_pointer(&newest, nccl_disk_plan_free);
		newest = g_steal_pointer(&disk);
	}
	return g_steal_pointer(&newest);
}

static gboolean disk_is_current(const NcclContainer *container, const NcclSettings *settings,
				const char *run_dir, const NcclDiskPlan *disk)
{
	for (guint i = 0; disk && i < container->allocations->len; i++) {
		const RdmadAllocation *allocation = container->allocations->pdata[i];

		if (!disk_has_files(container, settings, run_dir, allocation->id, disk->generation))
			return FALSE;
	}
	return disk != NULL;
}

static void container_write_all(NcclContainer *container, const NcclSettings *settings,
				const char *run_dir)
{
	container->unwritten = FALSE;
	g_clear_pointer(&container->problem, g_free);
	for (guint i = 0; i < container->allocations->len; i++) {
		const RdmadAllocation *allocation = container->allocations->pdata[i];

		if (!container_write(container, settings, run_dir, allocation->id))
			container->unwritten = TRUE;
	}
}

NcclContainerResult nccl_container_update(NcclContainer *container, RdmadAllocations *table,
					  RdmadInventory *inventory, const NcclSettings *settings,
					  const char *run_dir)
{
	NcclView *view = nccl_view_of_allocations(
		container->allocations, table, inventory, settings->host_network,
		container->look ? nccl_look_network(container->look) : NULL);
	g_autoptr(NcclDiskPlan) disk = NULL;

	if (views_equal(container->view, view)) {
		nccl_view_free(view);
		if (container->unwritten)
			container_write_all(container, settings, run_dir);
		return NCCL_CONTAINER_SAME;
	}
	container_plan(container, view, settings);
	disk = container_disk_plan(container, run_dir);
	container_remember(container, disk);
	container->generation = MAX(disk ? disk->generation : 0, container->generation);
	if (disk_is_current(container, settings, run_dir, disk))
		return NCCL_CONTAINER_SAME;
	container->generation++;
	container_write_all(container, settings, run_dir);
	if (!disk)
		return NCCL_CONTAINER_NEW;
	return nccl_env_equal(disk->env, container->plan->env) ? NCCL_CONTAINER_SAME
							       : NCCL_CONTAINER_CHANGED;
}

/* ---- differences ---- */

static void difference_append(GString *text, const char *name, const char *now, const char *before)
{
	if (g_strcmp0(now, before) != 0)
		g_string_append_printf(text, "%s%s %s, was %s", text->len ? "; " : "", name,
				       now ? now : "unset", before ? before : "unset");
}

char *nccl_container_difference(const NcclEnv *before, const NcclEnv *now)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < now->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(now, i);

		difference_append(text, variable->name, variable->value,
				  nccl_env_get(before, variable->name));
	}
	for (guint i = 0; i < before->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(before, i);

		if (!nccl_env_get(now, variable->name))
			difference_append(text, variable->name, NULL, variable->value);
	}
	return g_string_free(text, FALSE);
}
