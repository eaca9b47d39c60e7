/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/netns.h>
#include <rdmad/sysroot.h>
#include <string.h>
#include <unistd.h>

NcclNetwork *nccl_network_read(const RdmadSysroot *root, const char *process, GError **error)
{
	NcclAddresses *addresses = nccl_addresses_read(root, process, error);
	NcclNetwork *network;

	if (!addresses)
		return NULL;
	network = g_new0(NcclNetwork, 1);
	network->addresses = addresses;
	network->default_netdevs = nccl_default_netdevs_read(root, process);
	return network;
}

typedef struct {
	const RdmadSysroot *root;
	NcclNetwork *network;
} Reading;

static gboolean read_inside(gpointer data, GError **error)
{
	Reading *reading = data;

	reading->network = nccl_network_read(reading->root, "thread-self", error);
	return reading->network != NULL;
}

/* The process whose own namespace a path of the kernel's names (proc, PID, ns, net): its files need no
 * capability.  NULL: another path.  g_free() */
static char *path_process(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", 6);

	if (g_strv_length(parts) != 5 || parts[0][0] || !g_str_equal(parts[1], "proc") ||
	    !parts[2][0] || parts[2][strspn(parts[2], "0123456789")] ||
	    !g_str_equal(parts[3], "ns") || !g_str_equal(parts[4], "net"))
		return NULL;
	return g_strdup(parts[2]);
}

NcclNetwork *nccl_network_read_netns(const RdmadSysroot *root, const char *path, GError **error)
{
	Reading reading = { root, NULL };
	g_autofree char *process = path_process(path);
	rdmad_autofd int netns = -1;

	if (process)
		return nccl_network_read(root, process, error);
	if (!rdmad_sysroot_is_live(root)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "a recorded machine has no network namespace %s", path);
		return NULL;
	}
	netns = rdmad_netns_open(path, NULL, error);
	if (netns < 0 || !rdmad_netns_call(netns, read_inside, &reading, error))
		return NULL;
	return reading.network;
}

void nccl_network_free(NcclNetwork *network)
{
	g_clear_pointer(&network->addresses, nccl_addresses_free);
	g_strfreev(network->default_netdevs);
	g_free(network);
}
