/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/users.h"

#include <errno.h>
#include <rdmad/device.h>
#include <string.h>

#include <rdmad/cgroup-pod.h>
#include "hardware/netlink/restrack.h"
#include "hardware/sysroot.h"

struct RdmadDeviceUsers {
	const RdmadSysroot *root;
	guint index;	 /* of RDMA netlink */
	gboolean known;	 /* the index is known */
	gint64 again_us; /* no query before this time */
};

/* A running query and its deadline. */
typedef struct {
	RdmadReadingBuilder *builder;
	gint64 until_us;
} Query;

RdmadDeviceUsers *rdmad_device_users_new(const RdmadSysroot *root, const RdmadDevice *dev)
{
	RdmadDeviceUsers *users = g_new0(RdmadDeviceUsers, 1);

	users->root = root;
	users->known = dev->index != RDMAD_UNKNOWN;
	users->index = (guint)dev->index;
	return users;
}

void rdmad_device_users_free(RdmadDeviceUsers *users)
{
	g_free(users);
}

static gboolean query_must_stop(gpointer data)
{
	const Query *query = data;

	return rdmad_reading_builder_cancelled(query->builder) ||
	       query->builder->clock() >= query->until_us;
}

static int count_kind(const RdmadDeviceUsers *users, Query *query, RdmadUses kind, guint64 total,
		      RdmadRestrack *restrack)
{
	RdmadNetlink *nl = query->builder->rdma;
	int errnum;

	if (rdmad_restrack_get(nl, users->index, kind, restrack, query_must_stop, query, NULL))
		return 0;
	errnum = rdmad_netlink_errnum(nl);
	/* Kernels before 5.13 count contexts, but not by owner.  Listing queue pairs queries the
	 * driver for each, which not all drivers support. */
	if (errnum != EOPNOTSUPP && (kind != RDMAD_USES_CTX || errnum != EINVAL))
		return errnum;
	rdmad_restrack_set_unlisted(restrack, kind, total);
	query->builder->users_unlisted |= 1u << kind;
	return 0;
}

/* Lists only kinds with objects, because the kernel holds locks while it makes a list. */
static int count_objects(const RdmadDeviceUsers *users, Query *query, RdmadRestrack *restrack)
{
	RdmadNetlink *nl = query->builder->rdma;
	guint64 totals[RDMAD_USES_KINDS] = { 0 };
	int errnum = 0;

	if (!rdmad_restrack_get_summary(nl, users->index, totals, NULL))
		return rdmad_netlink_errnum(nl);
	for (guint kind = 0; !errnum && kind < RDMAD_USES_KINDS; kind++)
		if (totals[kind] > 0)
			errnum = count_kind(users, query, kind, totals[kind], restrack);
	return errnum;
}

/* Returns 0 or an errno.  Many users must not delay the counters, so that a query has a time
 * limit, and pauses after it was exceeded. */
static int count_in_time(RdmadDeviceUsers *users, RdmadReadingBuilder *builder,
			 RdmadRestrack *restrack)
{
	Query query = { builder, builder->clock() + RDMAD_DEVICE_USERS_MAX_US };
	int errnum;

	if (builder->time_us < users->again_us)
		return ETIMEDOUT;
	errnum = count_objects(users, &query, restrack);
	if (!errnum || !query_must_stop(&query))
		return errnum;
	users->again_us = builder->clock() + RDMAD_DEVICE_USERS_AGAIN_US;
	return ETIMEDOUT;
}

/* The kernel reports the thread that created an object.  Returns the process of the thread, or
 * the thread if it has ended. */
static guint process_of(const RdmadSysroot *root, guint thread)
{
	static const char TGID[] = "\nTgid:\t";
	g_autofree char *path = g_strdup_printf("proc/%u/status", thread);
	g_autofree char *text = rdmad_sysroot_read(root, path, NULL);
	const char *at = text ? strstr(text, TGID) : NULL;
	guint64 process = at ? g_ascii_strtoull(at + strlen(TGID), NULL, 10) : 0;

	return process > 0 && process <= G_MAXINT ? (guint)process : thread;
}

/* Sets no pod if the process has ended meanwhile. */
static void find_pod(const RdmadSysroot *root, RdmadDeviceUser *user, GStringChunk *strings)
{
	g_autofree char *path = g_strdup_printf("proc/%u/cgroup", user->pid);
	g_autofree char *text = rdmad_sysroot_read(root, path, NULL);
	RdmadCgroupPod pod;

	if (!text || !rdmad_cgroup_pod_parse(text, &pod))
		return;
	user->pod_uid = g_string_chunk_insert_const(strings, pod.uid);
	if (*pod.container_id)
		user->container_id = g_string_chunk_insert_const(strings, pod.container_id);
}

/* Returns the user for this process, valid until another one is added. */
static RdmadDeviceUser *add_user(const RdmadDeviceUsers *users, RdmadReadingBuilder *builder,
				 GHashTable *places, guint pid)
{
	RdmadDeviceUser user = { .pid = pid };
	gpointer place = g_hash_table_lookup(places, GUINT_TO_POINTER(pid));

	if (!place) {
		if (pid)
			find_pod(users->root, &user, builder->strings);
		g_array_append_val(builder->users, user);
		place = GUINT_TO_POINTER(builder->users->len);
		g_hash_table_insert(places, GUINT_TO_POINTER(pid), place);
	}
	return &g_array_index(builder->users, RdmadDeviceUser, GPOINTER_TO_UINT(place) - 1);
}

static gboolean must_stop(const RdmadReadingBuilder *builder)
{
	return rdmad_reading_builder_cancelled(builder) || rdmad_sysroot_in_doubt();
}

/* Returns 0, or the errno of a process that exists but could not be read, whose objects would be
 * taken for those of no pod. */
static int add_users(const RdmadDeviceUsers *users, RdmadReadingBuilder *builder,
		     const GArray *counted)
{
	g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL);

	rdmad_sysroot_passing_error();
	for (guint i = 0; i < counted->len && !must_stop(builder); i++) {
		const RdmadRestrackUser *from = &g_array_index(counted, RdmadRestrackUser, i);
		const guint pid = from->pid ? process_of(users->root, from->pid) : 0;
		RdmadDeviceUser *user = add_user(users, builder, places, pid);

		for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
			user->objects[kind] += from->objects[kind];
	}
	return rdmad_sysroot_passing_error();
}

void rdmad_device_users_read(RdmadDeviceUsers *users, RdmadReadingBuilder *builder)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) counted = NULL;

	builder->users_errnum = EOPNOTSUPP;
	if (!builder->rdma || !users->known)
		return;
	builder->users_errnum = count_in_time(users, builder, restrack);
	if (builder->users_errnum)
		return;
	counted = rdmad_restrack_take_users(restrack);
	builder->users_errnum = add_users(users, builder, counted);
	if (builder->users_errnum)
		g_array_set_size(builder->users, 0);
}
