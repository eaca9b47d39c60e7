/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod-cgroups.h"

#include <linux/magic.h>
#include <rdmad/cgroup-pod.h>
#include <rdmad/fd.h>
#include <rdmad/pod-log-directory.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "hardware/sysroot.h"

#define LOGS_MAX 4096u

/* ---- UIDs by the names of pods ---- */

GHashTable *rdmad_pod_uids_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
				     (GDestroyNotify)g_ptr_array_unref);
}

void rdmad_pod_uids_add(GHashTable *all, const char *pod_namespace, const char *pod_name,
			const char *uid)
{
	g_autofree char *name = rdmad_pod_name(pod_namespace, pod_name);
	GPtrArray *uids = g_hash_table_lookup(all, name);

	if (!uids) {
		uids = g_ptr_array_new_with_free_func(g_free);
		g_hash_table_insert(all, g_steal_pointer(&name), uids);
	}
	if (!rdmad_pod_uids_has(uids, uid))
		g_ptr_array_add(uids, g_strdup(uid));
}

gboolean rdmad_pod_uids_has(const GPtrArray *uids, const char *uid)
{
	return uids && g_ptr_array_find_with_equal_func((GPtrArray *)uids, uid, g_str_equal, NULL);
}

/* ---- the search ---- */

static void scan_add(RdmadPodScan *scan, const char *directory_name)
{
	g_auto(RdmadPodLogDirectory) directory = { 0 };

	if (rdmad_pod_log_directory_parse(directory_name, &directory))
		rdmad_pod_uids_add(scan->uids, directory.pod_namespace, directory.pod_name,
				   directory.uid);
}

/* Reads the log directories first: a pod that is created in between has its cgroup by then. */
gpointer rdmad_pod_scan_run(gpointer root, const RdmadJob *job, GError **error)
{
	RdmadPodScan *scan = g_new0(RdmadPodScan, 1);
	g_auto(GStrv) directories = NULL;

	rdmad_sysroot_passing_error();
	directories = rdmad_sysroot_list(root, RDMAD_POD_LOGS, NULL);
	scan->uids = rdmad_pod_uids_new();
	scan->logs = directories != NULL;
	for (guint i = 0; directories && directories[i] && i < LOGS_MAX; i++)
		scan_add(scan, directories[i]);
	scan->tree = rdmad_cgroup_tree_scan(root);
	scan->is_whole = !rdmad_sysroot_passing_error();
	return scan;
}

void rdmad_pod_scan_free(gpointer data)
{
	RdmadPodScan *scan = data;

	g_hash_table_unref(scan->uids);
	rdmad_cgroup_tree_free(scan->tree);
	g_free(scan);
}

const char *rdmad_pod_scan_problem(const RdmadPodScan *scan)
{
	if (!scan->logs)
		return "kubelet's directory /var/log/pods cannot be read";
	if (!scan->tree->parents->len)
		return "no cgroups of pods below /sys/fs/cgroup";
	return NULL;
}

/* ---- cgroups that were found ---- */

/* The cgroup that had the UID when it was found. */
typedef struct {
	char *identity; /* identity_of(), or NULL */
	gboolean has_ended;
} Cgroup;

struct RdmadPodCgroups {
	const RdmadSysroot *root;
	GHashTable *by_uid; /* -> Cgroup */
};

static void cgroup_free(gpointer data)
{
	Cgroup *cgroup = data;

	g_free(cgroup->identity);
	g_free(cgroup);
}

/* Returns NULL if the cgroup cannot be looked at. */
static char *identity_of(const RdmadPodCgroups *cgroups, const char *path)
{
	struct stat st;

	return rdmad_sysroot_glance(cgroups->root, path, &st)
		       ? g_strdup_printf("%" G_GUINT64_FORMAT " %s", (guint64)st.st_ino, path)
		       : NULL;
}

void rdmad_pod_cgroups_add(RdmadPodCgroups *cgroups, const char *uid, const char *path)
{
	g_autofree char *identity = identity_of(cgroups, path);
	const Cgroup *before = g_hash_table_lookup(cgroups->by_uid, uid);
	Cgroup *cgroup;

	if (before && g_strcmp0(before->identity, identity) == 0)
		return;
	cgroup = g_new(Cgroup, 1);
	*cgroup = (Cgroup){ g_steal_pointer(&identity), FALSE };
	g_hash_table_insert(cgroups->by_uid, g_strdup(uid), cgroup);
}

void rdmad_pod_cgroups_end(RdmadPodCgroups *cgroups, const char *uid)
{
	Cgroup *cgroup = g_hash_table_lookup(cgroups->by_uid, uid);

	if (cgroup)
		cgroup->has_ended = TRUE;
}

gboolean rdmad_pod_cgroups_has_ended(const RdmadPodCgroups *cgroups, const char *uid,
				     const char *path)
{
	const Cgroup *cgroup = g_hash_table_lookup(cgroups->by_uid, uid);
	g_autofree char *now = NULL;

	if (!cgroup || !cgroup->has_ended)
		return FALSE;
	now = path ? identity_of(cgroups, path) : NULL;
	return !now || g_strcmp0(now, cgroup->identity) == 0;
}

const char *rdmad_pod_cgroups_present(const RdmadPodCgroups *cgroups, const RdmadPodScan *scan,
				      const char *uid)
{
	const char *path = g_hash_table_lookup(scan->tree->pods, uid);

	return path && !rdmad_pod_cgroups_has_ended(cgroups, uid, path) ? path : NULL;
}

gboolean rdmad_pod_cgroups_any(const RdmadPodCgroups *cgroups, const RdmadPodScan *scan,
			       const GPtrArray *uids)
{
	for (guint i = 0; uids && i < uids->len; i++) {
		const char *path = g_hash_table_lookup(scan->tree->pods, uids->pdata[i]);

		if (!rdmad_pod_cgroups_has_ended(cgroups, uids->pdata[i], path))
			return TRUE;
	}
	return FALSE;
}

/* Returns a number that is higher for a cgroup that was made later; 0: unknown.
 * Source: fs/kernfs/dir.c, __kernfs_new_node(): the inode number is an ID that is given in
 * ascending order. */
static guint64 serial_of(const RdmadPodCgroups *cgroups, const char *path)
{
	rdmad_autofd int fd = path ? rdmad_sysroot_open_dir(cgroups->root, path) : -1;
	struct statfs fs;
	struct stat st;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return 0;
	return fs.f_type == CGROUP2_SUPER_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC ? st.st_ino : 0;
}

static guint64 serial_of_youngest(const RdmadPodCgroups *cgroups, const RdmadPodScan *scan,
				  const GPtrArray *uids)
{
	guint64 youngest = 0;

	for (guint i = 0; uids && i < uids->len; i++)
		youngest = MAX(youngest, serial_of(cgroups, g_hash_table_lookup(scan->tree->pods,
										uids->pdata[i])));
	return youngest;
}

const char *rdmad_pod_cgroups_newcomer(RdmadPodCgroups *cgroups, const RdmadPodScan *scan,
				       const GPtrArray *uids, const GPtrArray *known,
				       gboolean populated)
{
	const guint64 youngest = serial_of_youngest(cgroups, scan, known);
	const char *newcomer = NULL, *newcomer_uid = NULL;

	for (guint i = 0; uids && i < uids->len; i++) {
		const char *path = rdmad_pod_cgroups_present(cgroups, scan, uids->pdata[i]);

		if (!path || rdmad_pod_uids_has(known, uids->pdata[i]) ||
		    (youngest && serial_of(cgroups, path) < youngest) ||
		    (populated &&
		     rdmad_cgroup_state(cgroups->root, path) != RDMAD_CGROUP_POPULATED))
			continue;
		if (newcomer)
			return NULL;
		newcomer = path;
		newcomer_uid = uids->pdata[i];
	}
	if (newcomer)
		rdmad_pod_cgroups_add(cgroups, newcomer_uid, newcomer);
	return newcomer;
}

static gboolean nothing_is_left(gpointer uid, gpointer cgroup, gpointer data)
{
	const RdmadPodScan *scan = data;
	GHashTableIter iter;
	gpointer uids;

	if (g_hash_table_contains(scan->tree->pods, uid))
		return FALSE;
	g_hash_table_iter_init(&iter, scan->uids);
	while (g_hash_table_iter_next(&iter, NULL, &uids))
		if (rdmad_pod_uids_has(uids, uid))
			return FALSE;
	return TRUE;
}

void rdmad_pod_cgroups_clean(RdmadPodCgroups *cgroups, const RdmadPodScan *scan)
{
	if (scan->is_whole && !rdmad_pod_scan_problem(scan))
		g_hash_table_foreach_remove(cgroups->by_uid, nothing_is_left, (gpointer)scan);
}

/* A cgroup is not gone if that of all pods of its class is not visible either. */
static gboolean class_is_visible(const RdmadSysroot *root, const char *path)
{
	g_autofree char *parent = g_path_get_dirname(path);

	return rdmad_sysroot_exists(root, parent);
}

RdmadPodLife rdmad_pod_cgroup_life(const RdmadSysroot *root, const char *path)
{
	switch (rdmad_cgroup_state(root, path)) {
	case RDMAD_CGROUP_EMPTY:
		return RDMAD_POD_LIFE_EMPTY;
	case RDMAD_CGROUP_GONE:
		return class_is_visible(root, path) ? RDMAD_POD_LIFE_GONE : RDMAD_POD_LIFE_UNKNOWN;
	case RDMAD_CGROUP_POPULATED:
	case RDMAD_CGROUP_UNREADABLE:
		break;
	}
	return RDMAD_POD_LIFE_ALIVE;
}

void rdmad_pod_cgroups_end_empty(RdmadPodCgroups *cgroups, const char *path)
{
	char uid[sizeof(((RdmadCgroupPod *)NULL)->uid)];

	if (rdmad_cgroup_pod_path(path, uid) &&
	    rdmad_pod_life_is_over(rdmad_pod_cgroup_life(cgroups->root, path)))
		rdmad_pod_cgroups_end(cgroups, uid);
}

/* ---- life cycle ---- */

RdmadPodCgroups *rdmad_pod_cgroups_new(const RdmadSysroot *root)
{
	RdmadPodCgroups *cgroups = g_new0(RdmadPodCgroups, 1);

	cgroups->root = root;
	cgroups->by_uid = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, cgroup_free);
	return cgroups;
}

void rdmad_pod_cgroups_free(RdmadPodCgroups *cgroups)
{
	g_hash_table_unref(cgroups->by_uid);
	g_free(cgroups);
}
