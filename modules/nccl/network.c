/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <rdmad/error.h>
#include <string.h>
#include <unistd.h>

NcclNetwork *nccl_network_read(const RdmadSysroot *root, const char *process, GError **error)
{
	g_autoptr(NcclAddresses) addresses = nccl_addresses_read(root, process, error);
	char **default_netdevs = addresses ? nccl_default_netdevs_read(root, process, error) : NULL;
	NcclNetwork *network;

	if (!default_netdevs)
		return NULL;
	network = g_new0(NcclNetwork, 1);
	network->addresses = g_steal_pointer(&addresses);
	network->default_netdevs = default_netdevs;
	return network;
}

/* Returns the PID in a path "/proc/PID/ns/net", whose files need no capability, or NULL for another
 * path.  g_free() */
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
	g_autofree char *process = path_process(path);

	if (process)
		return nccl_network_read(root, process, error);
	g_set_error(
		error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		"%s is not the namespace of a process, /proc/PID/ns/net; others are not entered",
		path);
	return NULL;
}

void nccl_network_free(NcclNetwork *network)
{
	g_clear_pointer(&network->addresses, nccl_addresses_free);
	g_strfreev(network->default_netdevs);
	g_free(network);
}
