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

/* "/proc/4711/ns/net" is 4711, whose files need no capability; NULL: another path.  g_free() */
static char *path_process(const char *path)
{
	const char *pid = g_str_has_prefix(path, "/proc/") ? path + strlen("/proc/") : "";
	const gsize digits = strspn(pid, "0123456789");

	return digits && g_str_equal(pid + digits, "/ns/net") ? g_strndup(pid, digits) : NULL;
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
