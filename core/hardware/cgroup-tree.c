/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/cgroup-tree.h"

#include <rdmad/cgroup-pod.h>
#include <rdmad/error.h>
#include <rdmad/sysroot.h>
#include <string.h>

#include "hardware/sysroot.h"

#define MOUNT	 "sys/fs/cgroup"
#define DEPTH	 2 /* directories of --cgroup-root */
#define PODS_MAX 4096u

static const char *const v1_controllers[] = { "systemd", "pids", "memory", "cpu,cpuacct", "cpu" };

static gboolean is_kubepods(const char *name)
{
	return g_str_equal(name, "kubepods") || g_str_equal(name, "kubepods.slice") ||
	       g_str_has_suffix(name, "-kubepods.slice");
}

static gboolean is_qos_class(const char *name)
{
	return g_str_equal(name, "burstable") || g_str_equal(name, "besteffort") ||
	       g_str_has_suffix(name, "-burstable.slice") ||
	       g_str_has_suffix(name, "-besteffort.slice");
}

/* Excludes attributes, and units without child units. */
static gboolean may_hold_kubepods(const char *name)
{
	return !strchr(name, '.') || g_str_has_suffix(name, ".slice");
}

static void scan_parent(RdmadCgroupTree *tree, const RdmadSysroot *root, const char *path)
{
	g_auto(GStrv) names = rdmad_sysroot_list(root, path, NULL);
	char uid[sizeof(((RdmadCgroupPod *)NULL)->uid)];

	if (!names)
		return;
	g_ptr_array_add(tree->parents, g_strdup(path));
	for (guint i = 0; names[i]; i++) {
		g_autofree char *below = g_build_filename(path, names[i], NULL);

		if (is_qos_class(names[i]))
			scan_parent(tree, root, below);
		else if (rdmad_cgroup_pod_directory(names[i], uid) &&
			 g_hash_table_size(tree->pods) < PODS_MAX)
			g_hash_table_insert(tree->pods, g_strdup(uid), g_steal_pointer(&below));
	}
}

static void scan_below(RdmadCgroupTree *tree, const RdmadSysroot *root, const char *path,
		       guint depth)
{
	g_auto(GStrv) names = rdmad_sysroot_list(root, path, NULL);

	for (guint i = 0; names && names[i]; i++) {
		g_autofree char *below = g_build_filename(path, names[i], NULL);

		if (is_kubepods(names[i]))
			scan_parent(tree, root, below);
		else if (depth > 0 && may_hold_kubepods(names[i]))
			scan_below(tree, root, below, depth - 1);
	}
}

static gboolean is_v2(const RdmadSysroot *root)
{
	return rdmad_sysroot_exists(root, MOUNT "/cgroup.controllers");
}

RdmadCgroupTree *rdmad_cgroup_tree_scan(const RdmadSysroot *root)
{
	RdmadCgroupTree *tree = g_new0(RdmadCgroupTree, 1);

	tree->pods = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	tree->parents = g_ptr_array_new_with_free_func(g_free);
	if (is_v2(root)) {
		scan_below(tree, root, MOUNT, DEPTH);
		return tree;
	}
	for (guint i = 0; i < G_N_ELEMENTS(v1_controllers) && !tree->parents->len; i++) {
		g_autofree char *path = g_build_filename(MOUNT, v1_controllers[i], NULL);

		scan_below(tree, root, path, DEPTH);
	}
	return tree;
}

void rdmad_cgroup_tree_free(RdmadCgroupTree *tree)
{
	if (!tree)
		return;
	g_hash_table_unref(tree->pods);
	g_ptr_array_unref(tree->parents);
	g_free(tree);
}

/* ---- the cgroup of one pod ---- */

static gboolean has_controller(const RdmadSysroot *root, const char *controller)
{
	g_autofree char *hierarchy = g_build_filename(MOUNT, controller, NULL);
	g_autofree char *text = rdmad_sysroot_read(root, MOUNT "/cgroup.controllers", NULL);
	g_auto(GStrv) names = g_strsplit_set(text ? text : "", " \n", -1);

	return text ? g_strv_contains((const char *const *)names, controller)
		    : rdmad_sysroot_exists(root, hierarchy);
}

/* Returns the path of the same cgroup in another hierarchy of v1: the one of `path` is the first
 * directory. */
static char *path_with(const char *path, const char *controller)
{
	return g_build_filename(MOUNT, controller, strchr(path + strlen(MOUNT "/"), '/'), NULL);
}

char *rdmad_cgroup_pod_find(const RdmadSysroot *root, const char *uid, const char *controller,
			    GError **error)
{
	g_autoptr(RdmadCgroupTree) tree = NULL;
	g_autofree char *path = NULL;
	gboolean has;

	rdmad_sysroot_passing_error();
	has = has_controller(root, controller);
	tree = rdmad_cgroup_tree_scan(root);
	path = g_strdup(g_hash_table_lookup(tree->pods, uid));
	if (path && !is_v2(root)) {
		g_autofree char *of_controller = path_with(path, controller);

		g_free(path);
		path = rdmad_sysroot_exists(root, of_controller) ? g_steal_pointer(&of_controller)
								 : NULL;
	}
	if (has && path)
		return g_steal_pointer(&path);
	if (rdmad_sysroot_passing_error())
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "the cgroups of pods cannot be read now");
	else if (!has)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "/" MOUNT " has no %s controller", controller);
	else
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "no cgroup of pod %.64s below /" MOUNT, uid);
	return NULL;
}

gboolean rdmad_cgroup_enable(const RdmadSysroot *root, const char *path, const char *controller,
			     GError **error)
{
	g_autofree char *enable = g_strconcat("+", controller, NULL);
	const char *below = path + strlen(MOUNT);

	for (; below; below = strchr(below + 1, '/')) {
		g_autofree char *above = g_strndup(path, (gsize)(below - path));
		g_autofree char *control = g_strconcat(above, "/cgroup.subtree_control", NULL);

		if (!rdmad_sysroot_write(root, control, enable, error))
			return FALSE;
	}
	return TRUE;
}

static RdmadCgroupState state_of_error(const GError *error)
{
	return g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND) ? RDMAD_CGROUP_GONE
									  : RDMAD_CGROUP_UNREADABLE;
}

static RdmadCgroupState state_v1(const RdmadSysroot *root, const char *path)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = rdmad_sysroot_list(root, path, &error);

	if (!names)
		return state_of_error(error);
	rdmad_sysroot_passing_error();
	for (guint i = 0; names[i]; i++) {
		g_autofree char *procs = g_build_filename(path, names[i], "cgroup.procs", NULL);

		if (rdmad_sysroot_exists(root, procs))
			return RDMAD_CGROUP_POPULATED;
	}
	return rdmad_sysroot_passing_error() ? RDMAD_CGROUP_UNREADABLE : RDMAD_CGROUP_EMPTY;
}

RdmadCgroupState rdmad_cgroup_state(const RdmadSysroot *root, const char *path)
{
	g_autofree char *file = g_build_filename(path, "cgroup.events", NULL);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = rdmad_sysroot_read(root, file, &error);

	if (text)
		return strstr(text, "populated 1") ? RDMAD_CGROUP_POPULATED : RDMAD_CGROUP_EMPTY;
	return state_of_error(error) == RDMAD_CGROUP_GONE ? state_v1(root, path)
							  : RDMAD_CGROUP_UNREADABLE;
}
