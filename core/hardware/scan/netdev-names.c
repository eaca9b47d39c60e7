/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network interfaces of an RDMA device
 *
 * These are the interfaces of the same hardware device, the parent of a software device, the
 * interfaces named by GIDs with a proof, and for iWARP the interface whose MAC address is the GID.
 *
 * A GID's name alone proves nothing: its interface may have moved to another network namespace and
 * have the name of an interface of this one.  It is proved if the interface is on top of a known
 * interface of the device (VLAN, macvlan, bond), or if a GID is derived from its MAC address.
 */
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"

static gboolean has_name(GPtrArray *names, const char *name)
{
	return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

static void add_name(GPtrArray *names, const char *name)
{
	if (names->len < RDMAD_SCAN_MAX_NETDEVS && !has_name(names, name))
		g_ptr_array_add(names, g_strdup(name));
}

static char *read_net(const RdmadSysroot *root, const char *name, const char *attribute)
{
	g_autofree char *path = g_strconcat("sys/class/net/", name, "/", attribute, NULL);

	return rdmad_sysroot_read(root, path, NULL);
}

/* Recognizes "pf0vf3", "c1pf0sf2", the switch side of another function (devlink's port names). */
static gboolean is_representor(const RdmadSysroot *root, const char *name)
{
	g_autofree char *port = read_net(root, name, "phys_port_name");
	const char *pf = port && (*port == 'c' || *port == 'p') ? strstr(port, "pf") : NULL;

	return pf && (strstr(pf, "vf") || strstr(pf, "sf"));
}

char **rdmad_scan_function_netdevs(const RdmadSysroot *root, const char *function)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_autofree char *path = g_strconcat(function, "/net", NULL);
	g_auto(GStrv) all = rdmad_sysroot_list(root, path, NULL);

	for (guint i = 0; all && all[i]; i++)
		if (!is_representor(root, all[i]))
			g_strv_builder_add(names, all[i]);
	return g_strv_builder_end(names);
}

static void add_hardware(const RdmadAttrDir *dir, GPtrArray *names)
{
	g_autofree char *device = g_strconcat(dir->path, "/device", NULL);
	g_auto(GStrv) all = rdmad_scan_function_netdevs(dir->root, device);

	for (guint i = 0; all[i]; i++)
		add_name(names, all[i]);
}

/* Not all software devices name their parent interface; netlink names it for the others. */
static void add_parent(const RdmadAttrDir *dir, GPtrArray *names)
{
	char name[RDMAD_SYSROOT_ATTRIBUTE_SIZE];

	if (rdmad_sysroot_read_attribute(dir->fd, dir->path, "parent", name, NULL) &&
	    rdmad_sysfs_is_netdev_name(name))
		add_name(names, name);
}

static gboolean read_mac(const RdmadSysroot *root, const char *name, guint8 mac[6])
{
	g_autofree char *text = read_net(root, name, "address");

	return text && rdmad_sysfs_mac(text, mac);
}

/* fe80::/64 with the interface identifier of RFC 4291, appendix A. */
static gboolean is_gid_of_mac(const guint8 gid[16], const guint8 mac[6])
{
	const guint8 expected[16] = {
		0xfe,	    0x80,   0,	    0,	  0,	0,	0,	0,
		mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]
	};

	return !memcmp(gid, expected, sizeof(expected));
}

static gboolean has_gid_of_mac(const RdmadAttrDir *dir, const RdmadPort *port, const char *name)
{
	guint8 mac[6];

	if (!read_mac(dir->root, name, mac))
		return FALSE;
	for (guint i = 0; i < port->n_gids; i++)
		if (!g_strcmp0(port->gids[i].netdev, name) && is_gid_of_mac(port->gids[i].raw, mac))
			return TRUE;
	return FALSE;
}

static gboolean is_on_top_of(const RdmadSysroot *root, const char *name, const GPtrArray *names)
{
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *lower = g_strconcat("sys/class/net/", name, "/lower_",
						     (const char *)names->pdata[i], NULL);

		if (rdmad_sysroot_exists(root, lower))
			return TRUE;
	}
	return FALSE;
}

/* Consecutive entries of one interface are checked once. */
static void add_named_by_gids(const RdmadAttrDir *dir, const RdmadPort *port, GPtrArray *names,
			      gboolean software)
{
	const char *checked = NULL;

	for (guint i = 0; i < port->n_gids; i++) {
		const char *name = port->gids[i].netdev;

		if (!name || has_name(names, name) || !g_strcmp0(checked, name))
			continue;
		checked = name;
		if (software || has_gid_of_mac(dir, port, name) ||
		    is_on_top_of(dir->root, name, names))
			add_name(names, name);
	}
}

/* Hardware is preferred, because bonds, bridges and VLANs share its address. */
static gboolean is_hardware(const RdmadSysroot *root, const char *name)
{
	g_autofree char *device = g_strconcat("sys/class/net/", name, "/device", NULL);

	return rdmad_sysroot_exists(root, device);
}

/* iWARP has one GID per port: the MAC address and zeros. */
static void add_by_mac(const RdmadAttrDir *dir, const RdmadPort *port, GPtrArray *names)
{
	g_auto(GStrv) all = rdmad_sysroot_list(dir->root, "sys/class/net", NULL);
	const char *found = NULL;
	guint8 mac[6];

	for (guint i = 0; all && all[i] && port->n_gids; i++) {
		if (!read_mac(dir->root, all[i], mac) || memcmp(mac, port->gids[0].raw, 6) != 0)
			continue;
		if (!found || is_hardware(dir->root, all[i]))
			found = all[i];
		if (is_hardware(dir->root, found))
			break;
	}
	if (found)
		add_name(names, found);
}

GPtrArray *rdmad_scan_netdev_names(const RdmadAttrDir *dir)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *device = g_strconcat(dir->path, "/device", NULL);
	const RdmadDevice *dev = dir->dev;
	const gboolean software = !dev->pci_address && !rdmad_sysroot_exists(dir->root, device);

	add_hardware(dir, names);
	add_parent(dir, names);
	for (guint i = 0; i < dev->n_ports; i++)
		add_named_by_gids(dir, &dev->ports[i], names, software);
	for (guint i = 0; i < dev->n_ports && !names->len; i++)
		if (dev->node_type == RDMAD_NODE_RNIC)
			add_by_mac(dir, &dev->ports[i], names);
	g_ptr_array_sort(names, rdmad_natural_compare_entries);
	return names;
}
