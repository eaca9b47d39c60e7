/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/device-users.h"

#include <errno.h>
#include <rdmad/device.h>
#include <rdmad/sysroot.h>
#include <string.h>

#include "hardware/cgroup-pod.h"
#include "hardware/netlink-restrack.h"

struct RdmadDeviceUsers {
	const RdmadSysroot *root;
	guint index;	/* of RDMA netlink */
	gboolean known; /* there is such an index */
};

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

/* A list may be long, and the kernel holds locks while it makes it: only where there is something. */
static int count_objects(const RdmadDeviceUsers *users, const RdmadDraft *draft,
			 RdmadRestrack *restrack)
{
	guint64 totals[RDMAD_USES_KINDS] = { 0 };

	if (!rdmad_restrack_get_summary(draft->rdma, users->index, totals, NULL))
		return rdmad_netlink_errnum(draft->rdma);
	for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++) {
		if (totals[kind] == 0 || rdmad_draft_cancelled(draft))
			continue;
		if (!rdmad_restrack_get(draft->rdma, users->index, kind, restrack, NULL))
			return rdmad_netlink_errnum(draft->rdma);
	}
	return 0;
}

/* A process that has ended meanwhile is in no pod. */
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

static void add_users(const RdmadDeviceUsers *users, RdmadDraft *draft, const GArray *counted)
{
	for (guint i = 0; i < counted->len && !rdmad_draft_cancelled(draft); i++) {
		const RdmadRestrackUser *from = &g_array_index(counted, RdmadRestrackUser, i);
		RdmadDeviceUser user = { .pid = from->pid };

		memcpy(user.objects, from->objects, sizeof(user.objects));
		if (user.pid)
			find_pod(users->root, &user, draft->strings);
		g_array_append_val(draft->users, user);
	}
}

void rdmad_device_users_read(RdmadDeviceUsers *users, RdmadDraft *draft)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) counted = NULL;

	draft->users_errnum = EOPNOTSUPP;
	if (!draft->rdma || !users->known)
		return;
	draft->users_errnum = count_objects(users, draft, restrack);
	if (draft->users_errnum)
		return;
	counted = rdmad_restrack_take_users(restrack);
	add_users(users, draft, counted);
}
