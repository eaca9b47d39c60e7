/* SPDX-License-Identifier: Apache-2.0 */
#include "container.h"

#include <rdmad/allocation-dir.h>
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <string.h>

#include "view-allocations.h"
#include "write.h"

#define CONF_MAX	 (64u * 1024)
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
	g_ptr_array_unref(container->allocations);
	g_free(container);
}

const RdmadAllocation *nccl_container_named(const NcclContainer *container)
{
	const RdmadAllocation *first =
		container->allocations->len ? container->allocations->pdata[0] : NULL;

	return first && first->pod_name ? first : NULL;
}

/* ---- what is on the disk ---- */

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

/* A file that cannot be read is replaced by the next update. */
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

/* ---- writing ---- */

/* FALSE: to be tried again, which is logged here.  An allocation that has ended has no directory. */
static gboolean bytes_write(const char *run_dir, const char *id, const char *file, GBytes *bytes)
{
	g_autoptr(GError) error = NULL;

	if (rdmad_allocation_dir_write_bytes(run_dir, id, file, bytes, &error) ||
	    g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		return TRUE;
	rdmad_warn("allocation %s: %s: %s", id, file, error->message);
	return FALSE;
}

static gboolean file_write(const char *run_dir, const char *id, const char *file, const char *text)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static(text, strlen(text));

	return bytes_write(run_dir, id, file, bytes);
}

/* nccl.conf is last: it has the generation that says that all is there. */
static gboolean container_write(const NcclContainer *container, const NcclSettings *settings,
				const char *run_dir, const char *id)
{
	const NcclPlanLabel label = { id, container->generation };
	g_autofree char *sh = nccl_write_sh(container->plan, &label);
	g_autofree char *conf = nccl_write_conf(container->plan, &label);
	g_autofree char *json =
		nccl_write_json_text(container->view, &settings->policy, container->plan, &label);
	g_autofree char *versions = nccl_write_versions(container->view, &settings->policy, &label);

	if (settings->policy.topo_file) {
		g_autofree char *topology = nccl_write_topology(container->view, container->plan);

		if (!file_write(run_dir, id, NCCL_TOPOLOGY_FILE, topology))
			return FALSE;
	}
	if (settings->env_plugin &&
	    !bytes_write(run_dir, id, NCCL_PLUGIN_FILE, settings->env_plugin))
		return FALSE;
	return file_write(run_dir, id, NCCL_PLAN_FILE, json) &&
	       file_write(run_dir, id, NCCL_VERSIONS_FILE, versions) &&
	       file_write(run_dir, id, NCCL_ENV_FILE, sh) &&
	       file_write(run_dir, id, NCCL_CONF_FILE, conf);
}

/* ---- updating ---- */

/* The same snapshots and the same addresses give the same plan. */
static gboolean views_equal(const NcclView *a, const NcclView *b)
{
	if (!a || a->devices->len != b->devices->len || a->gpus->len != b->gpus->len ||
	    !a->addresses != !b->addresses ||
	    (a->addresses && !nccl_addresses_equal(a->addresses, b->addresses)))
		return FALSE;
	for (guint i = 0; i < a->devices->len; i++)
		if (nccl_view_device(a, i)->device != nccl_view_device(b, i)->device)
			return FALSE;
	return TRUE;
}

static void container_plan(NcclContainer *container, NcclView *view, const NcclSettings *settings)
{
	g_clear_pointer(&container->plan, nccl_plan_free);
	g_clear_pointer(&container->view, nccl_view_free);
	container->view = view;
	container->plan = nccl_plan_new(view, settings->versions, &settings->policy);
}

/* Settings that the job may have read: the plan of an earlier run, else the first of this one. */
static void container_remember(NcclContainer *container, const NcclDiskPlan *disk)
{
	if (container->first)
		return;
	if (disk && !disk->refused)
		container->first = nccl_env_copy(disk->env);
	else if (!container->plan->refusal)
		container->first = nccl_env_copy(container->plan->env);
}

/* Whether the directory of each allocation has this plan already; `newest` of them, NULL: none. */
static gboolean disk_is_current(const NcclContainer *container, const char *run_dir,
				NcclDiskPlan **newest)
{
	gboolean current = TRUE;

	for (guint i = 0; i < container->allocations->len; i++) {
		const RdmadAllocation *allocation = container->allocations->pdata[i];
		g_autoptr(NcclDiskPlan) disk = nccl_disk_plan_read(run_dir, allocation->id);

		current = current && disk->generation &&
			  disk->refused == (container->plan->refusal != NCCL_REFUSAL_NONE) &&
			  nccl_env_equal(disk->env, container->plan->env);
		if (disk->generation > (*newest ? (*newest)->generation : 0)) {
			g_clear_pointer(newest, nccl_disk_plan_free);
			*newest = g_steal_pointer(&disk);
		}
	}
	return current;
}

static void container_write_all(NcclContainer *container, const NcclSettings *settings,
				const char *run_dir)
{
	container->unwritten = FALSE;
	for (guint i = 0; i < container->allocations->len; i++) {
		const RdmadAllocation *allocation = container->allocations->pdata[i];

		if (!container_write(container, settings, run_dir, allocation->id))
			container->unwritten = TRUE;
	}
}

NcclContainerNews nccl_container_update(NcclContainer *container, RdmadInventory *inventory,
					const NcclSettings *settings, const char *run_dir)
{
	NcclView *view =
		nccl_view_of_allocations(container->allocations, inventory, settings->host_network);
	g_autoptr(NcclDiskPlan) disk = NULL;
	gboolean current;

	if (views_equal(container->view, view)) {
		nccl_view_free(view);
		if (container->unwritten)
			container_write_all(container, settings, run_dir);
		return NCCL_CONTAINER_SAME;
	}
	container_plan(container, view, settings);
	current = disk_is_current(container, run_dir, &disk);
	container_remember(container, disk);
	container->generation = MAX(disk ? disk->generation : 0, container->generation) + !current;
	if (current)
		return NCCL_CONTAINER_SAME;
	container_write_all(container, settings, run_dir);
	return container->generation > 1 ? NCCL_CONTAINER_CHANGED : NCCL_CONTAINER_NEW;
}

/* ---- what differs ---- */

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
