/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA devices of pods: move a device, wait for its GID, bind an address
 *
 * The kernel gives a moved device the lowest free uverbs number.  Two concurrent moves could swap
 * their numbers, so moves are serialized.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdmad/fd.h>
#include <rdmad/netns.h>
#include <rdmad/sysroot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/sysroot.h"
#include "hardware/verbs/verbs.h"
#include "network/perform.h"

#define GID_TYPE_ROCE_V2 "RoCE v2"

static gboolean move_locked(int from, const char *device, int to, GError **error)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	gboolean ok;

	pthread_mutex_lock(&lock);
	ok = rdmad_rdma_move(from, device, to, error);
	pthread_mutex_unlock(&lock);
	return ok;
}

static gboolean device_is_in_host(const PerformContext *ctx, const char *name)
{
	g_autofree char *path = g_strdup_printf("sys/class/infiniband/%s", name);

	return rdmad_sysroot_exists(ctx->root, path);
}

/* A device missing from its source namespace was moved before, or the kernel returned it when its
 * namespace ended. */
gboolean perform_rdma_move(const PerformContext *ctx, const RdmadStepRdmaMove *move, gboolean back,
			   GError **error)
{
	const int from = back ? ctx->pod_fd : ctx->host_fd;
	const int to = back ? ctx->host_fd : ctx->pod_fd;
	GError *why = NULL;

	if (back && !ctx->pod)
		return TRUE;
	if (move_locked(from, move->host_name, to, &why))
		return TRUE;
	if (g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND) &&
	    device_is_in_host(ctx, move->host_name) == back) {
		g_error_free(why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

/* ---- GIDs ---- */

typedef struct {
	const RdmadSysroot *root;
	const RdmadStepWaitGid *gid;
	char *directory;
	char text[40]; /* the GID as in sysfs */
	int index;     /* the best index, or -1 */
	int found[2];  /* indices of RoCE v2 and of any other type; -1: none */
} GidWait;

/* An IPv4 address is formatted as an IPv4-mapped IPv6 address. */
static void gid_format(const RdmadIp *ip, char text[40])
{
	guint8 raw[16] = { [10] = 0xff, [11] = 0xff };

	memcpy(ip->family == AF_INET ? raw + 12 : raw, ip->bytes, ip->family == AF_INET ? 4 : 16);
	for (guint i = 0; i < 8; i++)
		snprintf(text + 5 * i, 6, "%02x%02x%s", raw[2 * i], raw[2 * i + 1],
			 i < 7 ? ":" : "");
}

static char *attribute(const GidWait *wait, const char *kind, const char *index)
{
	g_autofree char *path = g_strdup_printf("%s/gid_attrs/%s/%s", wait->directory, kind, index);

	return rdmad_sysroot_read(wait->root, path, NULL);
}

/* Checks the link: another pod, on a separate network, may have the same address. */
static void gid_match(const char *index, const char *value, const GError *problem, gpointer data)
{
	GidWait *wait = data;
	g_autofree char *type = NULL, *netdev = NULL;

	if (!value || !g_str_equal(value, wait->text))
		return;
	type = attribute(wait, "types", index);
	netdev = attribute(wait, "ndevs", index);
	if (netdev && !g_str_equal(netdev, wait->gid->link))
		return;
	wait->found[g_strcmp0(type, GID_TYPE_ROCE_V2) != 0] = atoi(index);
}

static gboolean gid_is_present(gpointer data, GError **error)
{
	GidWait *wait = data;
	g_autofree char *gids = g_build_filename(wait->directory, "gids", NULL);

	wait->found[0] = wait->found[1] = -1;
	if (!rdmad_sysroot_read_dir(wait->root, gids, gid_match, wait, error))
		return FALSE;
	/* The kernel adds the RoCE v2 entry after that of v1. */
	wait->index = wait->found[0] >= 0 ? wait->found[0] : wait->found[1];
	return wait->found[0] >= 0;
}

static gboolean gid_wait(const PerformContext *ctx, GidWait *wait, GError **error)
{
	GError *why = NULL;

	gid_format(&wait->gid->ip, wait->text);
	if (perform_wait(ctx, wait->gid->timeout_ms, gid_is_present, wait, &why))
		return TRUE;
	/* The device supports only RoCE v1. */
	if (wait->index >= 0 && perform_forgive(&why, RDMAD_ERROR_TIMEOUT))
		return TRUE;
	g_propagate_error(error, why);
	return FALSE;
}

/* A device that was moved into the pod is visible only in the sysfs of the pod's namespace. */
gboolean perform_wait_gid(const PerformContext *ctx, RdmadStepPlace where,
			  const RdmadStepWaitGid *gid, int *index, GError **error)
{
	const gboolean in_pod = where == RDMAD_STEP_IN_POD;
	g_autoptr(RdmadSysroot) sysfs = in_pod ? rdmad_sysroot_new_sysfs(error) : NULL;
	g_autofree char *directory = g_strdup_printf("%sclass/infiniband/%s/ports/%u",
						     in_pod ? "" : "sys/", gid->device, gid->port);
	GidWait wait = { in_pod ? sysfs : ctx->root, gid, directory, .index = -1 };

	if (!wait.root || !gid_wait(ctx, &wait, error))
		return FALSE;
	*index = wait.index;
	return TRUE;
}

/* The device file is forbidden in an unprivileged container.  librdmacm would report a misleading
 * error. */
static gboolean rdma_cm_is_forbidden(const PerformContext *ctx)
{
	rdmad_autofd int fd =
		rdmad_sysroot_open(ctx->root, "dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC, NULL);

	return fd < 0 && (errno == EPERM || errno == EACCES);
}

gboolean perform_bind(const PerformContext *ctx, const RdmadStepRdmaBind *bind, GError **error)
{
	g_autofree char *device = NULL;

	if (rdma_cm_is_forbidden(ctx))
		return TRUE;
	device = rdmad_verbs_bind(&bind->ip, error);
	if (!device || g_str_equal(device, bind->device))
		return device != NULL;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "RDMA_CM finds %s, not %s", device,
		    bind->device);
	return FALSE;
}
