/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces of an RDMA device, and which one belongs to which port
 *
 * An interface belongs to the device when both hang under one hardware device, when a GID names it
 * and it stands on such an interface (VLAN, macvlan, bond), or when a software device (rxe, siw)
 * stands on it.  A GID alone is no proof: its interface may have moved to another network namespace,
 * where it may have the name of one of ours.
 */
#include <rdmad/error.h>
#include <string.h>

#include "hardware/scan-private.h"
#include "hardware/sysfs-value.h"
#include "service/device-private.h"

#define FIELD(member) G_STRUCT_OFFSET(RdmadNetdev, member)

static const RdmadAttr netdev_attrs[] = {
	{ "ifindex", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_int, FIELD(ifindex) },
	{ "address", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_text, FIELD(mac) },
	{ "mtu", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_int, FIELD(mtu) },
	{ "operstate", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_text, FIELD(operstate) },
	/* Refused while the interface is down. */
	{ "carrier", RDMAD_ATTR_QUIET, rdmad_sysfs_int, FIELD(carrier) },
	{ "speed", RDMAD_ATTR_QUIET, rdmad_sysfs_speed, FIELD(speed_mbps) },
};

static char *net_path(const char *name, const char *attribute)
{
	return g_strdup_printf("sys/class/net/%s/%s", name, attribute);
}

/* A name from outside that becomes part of a path. */
static gboolean is_netdev_name(const char *name)
{
	return name && *name && strlen(name) < 16 && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

static gboolean has_name(const GPtrArray *names, const char *name)
{
	return g_ptr_array_find_with_equal_func((GPtrArray *)names, name, g_str_equal, NULL);
}

static void add_name(GPtrArray *names, const char *name)
{
	if (names->len < RDMAD_SCAN_MAX_NETDEVS && is_netdev_name(name) && !has_name(names, name))
		g_ptr_array_add(names, g_strdup(name));
}

/* "pf0vf3", "c1pf0sf2": the switch side of somebody else's function (devlink's port names). */
static gboolean is_representor(const RdmadSysroot *root, const char *name)
{
	g_autofree char *path = net_path(name, "phys_port_name");
	g_autofree char *port = rdmad_sysroot_read(root, path, NULL);
	const char *pf;

	if (!port || (*port != 'c' && *port != 'p'))
		return FALSE;
	pf = strstr(port, "pf");
	return pf && (strstr(pf, "vf") || strstr(pf, "sf"));
}

static void add_hardware_netdevs(const RdmadAttrDir *dir, GPtrArray *names)
{
	g_autofree char *path = g_strdup_printf("%s/device/net", dir->path);
	g_auto(GStrv) all = rdmad_sysroot_list(dir->root, path, NULL);

	for (guint i = 0; all && all[i]; i++)
		if (!is_representor(dir->root, all[i]))
			add_name(names, all[i]);
}

/* What a software device stands on; asked of the kernel once more for those without such a file. */
static void add_parent(const RdmadAttrDir *dir, GPtrArray *names)
{
	g_autofree char *path = g_strdup_printf("%s/parent", dir->path);
	g_autofree char *name = rdmad_sysroot_read(dir->root, path, NULL);

	add_name(names, name);
}

static gboolean stands_on(const RdmadSysroot *root, const char *name, const GPtrArray *names)
{
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *lower = g_strdup_printf("sys/class/net/%s/lower_%s", name,
							 (const char *)names->pdata[i]);

		if (rdmad_sysroot_exists(root, lower))
			return TRUE;
	}
	return FALSE;
}

static void add_gid_netdevs(const RdmadAttrDir *dir, GPtrArray *names, gboolean software)
{
	g_autoptr(GPtrArray) stacked = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < dir->dev->n_ports; i++)
		for (guint j = 0; j < dir->dev->ports[i].n_gids; j++) {
			const char *name = dir->dev->ports[i].gids[j].netdev;

			if (is_netdev_name(name) && !has_name(names, name) &&
			    !has_name(stacked, name) &&
			    (software || stands_on(dir->root, name, names)))
				add_name(stacked, name);
		}
	for (guint i = 0; i < stacked->len; i++)
		add_name(names, stacked->pdata[i]);
}

static void read_netdev(const RdmadAttrDir *dir, RdmadNetdev *netdev, const char *name)
{
	g_autofree char *path = g_strdup_printf("sys/class/net/%s", name);
	g_autofree char *label = g_strdup_printf("net/%s/", name);
	g_autofree char *master = net_path(name, "master");
	const RdmadAttrDir net_dir = { dir->root, dir->dev, path, label };

	*netdev = (RdmadNetdev){
		.name = g_utf8_make_valid(name, -1),
		.ifindex = RDMAD_UNKNOWN,
		.mtu = RDMAD_UNKNOWN,
		.carrier = RDMAD_UNKNOWN,
		.speed_mbps = RDMAD_UNKNOWN,
		.addresses = g_new0(char *, 1),
	};
	rdmad_attrs_read(&net_dir, netdev_attrs, G_N_ELEMENTS(netdev_attrs), netdev);
	netdev->master = rdmad_sysroot_link_name(dir->root, master, NULL);
}

static void read_netdevs(const RdmadAttrDir *dir, const GPtrArray *names)
{
	RdmadDevice *dev = dir->dev;

	dev->netdevs = g_new0(RdmadNetdev, names->len);
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *path = net_path(names->pdata[i], "");

		if (rdmad_sysroot_exists(dir->root, path))
			read_netdev(dir, &dev->netdevs[dev->n_netdevs++], names->pdata[i]);
	}
}

/* Which port of its device an interface is, from 0.  Old drivers of two-port devices (and IPoIB)
 * say so in dev_id. */
static int port_index(const RdmadSysroot *root, const char *name)
{
	static const char *const attributes[] = { "dev_port", "dev_id" };

	for (guint i = 0; i < G_N_ELEMENTS(attributes); i++) {
		g_autofree char *path = net_path(name, attributes[i]);
		gint64 index = 0;

		if (rdmad_sysroot_read_int(root, path, &index, NULL) && index > 0 && index < 255)
			return (int)index;
	}
	return 0;
}

static const RdmadNetdev *netdev_of_gids(const RdmadDevice *dev, const RdmadPort *port)
{
	const RdmadNetdev *netdev = NULL;

	for (guint i = 0; i < port->n_gids && !netdev; i++)
		if (port->gids[i].netdev)
			netdev = rdmad_device_netdev(dev, port->gids[i].netdev);
	return netdev;
}

static const RdmadNetdev *netdev_of_port(const RdmadSysroot *root, const RdmadDevice *dev,
					 const RdmadPort *port)
{
	if (dev->n_ports == 1 && dev->n_netdevs == 1)
		return &dev->netdevs[0];
	for (guint i = 0; i < dev->n_netdevs; i++)
		if (port_index(root, dev->netdevs[i].name) == (int)port->number - 1)
			return &dev->netdevs[i];
	return NULL;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	return rdmad_natural_compare(*(char *const *)a, *(char *const *)b);
}

void rdmad_scan_netdevs(const RdmadAttrDir *dir)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *device = g_strdup_printf("%s/device", dir->path);
	RdmadDevice *dev = dir->dev;

	add_hardware_netdevs(dir, names);
	add_parent(dir, names);
	add_gid_netdevs(dir, names, !rdmad_sysroot_exists(dir->root, device));
	g_ptr_array_sort(names, compare_names);
	read_netdevs(dir, names);
	for (guint i = 0; i < dev->n_ports; i++) {
		const RdmadNetdev *netdev = netdev_of_gids(dev, &dev->ports[i]);

		if (!netdev)
			netdev = netdev_of_port(dir->root, dev, &dev->ports[i]);
		dev->ports[i].netdev = netdev ? g_strdup(netdev->name) : NULL;
	}
}
