/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA devices between namespaces
 *
 * The kernel looks up the device in the socket's namespace, but compares with the namespace of the
 * sending thread (drivers/infiniband/core/device.c, ib_device_set_netns_put()): both must be
 * `from`.
 */
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/netns.h>
#include <rdmad/network.h>

#include "hardware/netlink/rdma.h"

const char *rdmad_rdma_netns_mode(GError **error)
{
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_RDMA, error);

	return nl ? rdmad_nldev_get_netns_mode(nl, error) : NULL;
}

typedef struct {
	const char *device;
	int to;
} Move;

static gboolean device_find(RdmadNetlink *nl, const char *name, guint *index, GError **error)
{
	g_autoptr(GPtrArray) devices = rdmad_nldev_get_devices(nl, error);

	for (guint i = 0; devices && i < devices->len; i++) {
		const RdmadNldevDevice *device = devices->pdata[i];

		if (g_str_equal(device->name, name)) {
			*index = device->index;
			return TRUE;
		}
	}
	if (devices)
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
				    "no such device in its network namespace");
	return FALSE;
}

static gboolean move_run(gpointer data, GError **error)
{
	const Move *move = data;
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_RDMA, error);
	guint index;

	return nl && device_find(nl, move->device, &index, error) &&
	       rdmad_nldev_set_netns(nl, index, move->to, error);
}

gboolean rdmad_rdma_move(int from, const char *device, int to, GError **error)
{
	rdmad_autofd int own = to ? -1 : rdmad_netns_open_own(NULL, error);
	Move move = { device, to ?: own };

	if (move.to < 0)
		return FALSE;
	if (from ? rdmad_netns_call(from, move_run, &move, error) : move_run(&move, error))
		return TRUE;
	g_prefix_error(error, "cannot move RDMA device %s: ", device);
	return FALSE;
}
