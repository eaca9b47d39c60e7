/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod-cgroups.h"

#include <sys/stat.h>

#include "hardware/sysroot.h"

/* The cgroup that had the UID when it was found. */
typedef struct {
	char *identity; /* identity_of(), or NULL */
	gint64 number, last;
	gboolean has_ended;
} Cgroup;

struct RdmadPodCgroups {
	const RdmadSysroot *root;
	GHashTable *by_uid;  /* -> Cgroup */
	GHashTable *doubled; /* set of "namespace/name" */
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

/* ---- names with two pods ---- */

typedef struct {
	GHashTable *containers; /* set of "namespace/name/container/resource" */
	GHashTable *doubled;
} Doubled;

static void doubled_collect(const RdmadAllocation *allocation, gpointer data)
{
	const Doubled *into = data;

	if (allocation->container &&
	    !g_hash_table_add(into->containers,
			      g_strdup_printf("%s/%s/%s/%s", allocation->pod_namespace,
					      allocation->pod_name, allocation->container,
					      allocation->resource)))
		g_hash_table_add(into->doubled, g_strdup_printf("%s/%s", allocation->pod_namespace,
								allocation->pod_name));
}

static void doubled_find(RdmadPodCgroups *cgroups, RdmadAllocations *allocations)
{
	g_autoptr(GHashTable) containers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Doubled into = { containers, cgroups->doubled };

	rdmad_allocations_foreach(allocations, doubled_collect, &into);
}

gboolean rdmad_pod_cgroups_take_doubled(RdmadPodCgroups *cgroups, const char *name)
{
	return g_hash_table_remove(cgroups->doubled, name);
}

/* ---- cgroups ---- */

void rdmad_pod_cgroups_add(RdmadPodCgroups *cgroups, const char *uid, const char *path,
			   gint64 number, gint64 last)
{
	g_autofree char *identity = identity_of(cgroups, path);
	const Cgroup *before = g_hash_table_lookup(cgroups->by_uid, uid);
	Cgroup *cgroup;

	if (before && g_strcmp0(before->identity, identity) == 0)
		return;
	cgroup = g_new(Cgroup, 1);
	*cgroup = (Cgroup){ g_steal_pointer(&identity), number, number ? last : 0, FALSE };
	g_hash_table_insert(cgroups->by_uid, g_strdup(uid), cgroup);
}

gint64 rdmad_pod_cgroups_number(const RdmadPodCgroups *cgroups, const char *uid)
{
	const Cgroup *cgroup = g_hash_table_lookup(cgroups->by_uid, uid);

	return cgroup ? cgroup->number : 0;
}

gint64 rdmad_pod_cgroups_last(const RdmadPodCgroups *cgroups, const char *uid)
{
	const Cgroup *cgroup = g_hash_table_lookup(cgroups->by_uid, uid);

	return cgroup ? cgroup->last : 0;
}

void rdmad_pod_cgroups_forget_numbers(RdmadPodCgroups *cgroups, const char *uid)
{
	Cgroup *cgroup = g_hash_table_lookup(cgroups->by_uid, uid);

	if (cgroup)
		cgroup->number = cgroup->last = 0;
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

void rdmad_pod_cgroups_remove(RdmadPodCgroups *cgroups, GHRFunc is_gone, gpointer data)
{
	g_hash_table_foreach_remove(cgroups->by_uid, is_gone, data);
}

/* ---- life cycle ---- */

RdmadPodCgroups *rdmad_pod_cgroups_new(const RdmadSysroot *root, RdmadAllocations *allocations)
{
	RdmadPodCgroups *cgroups = g_new0(RdmadPodCgroups, 1);

	cgroups->root = root;
	cgroups->by_uid = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, cgroup_free);
	cgroups->doubled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	doubled_find(cgroups, allocations);
	return cgroups;
}

void rdmad_pod_cgroups_free(RdmadPodCgroups *cgroups)
{
	g_hash_table_unref(cgroups->by_uid);
	g_hash_table_unref(cgroups->doubled);
	g_free(cgroups);
}
