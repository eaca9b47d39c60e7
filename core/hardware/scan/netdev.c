/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the network interfaces of an RDMA device, and assigns them to ports */
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"

#define FIELD(member) G_STRUCT_OFFSET(RdmadNetdev, member)

static const RdmadAttr netdev_attrs[] = {
	{ "ifindex", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_int, FIELD(ifindex) },
	{ "address", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_text, FIELD(mac) },
	{ "mtu", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_int, FIELD(mtu) },
	{ "operstate", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_text, FIELD(operstate) },
	{ "flags", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_is_up, FIELD(up) },
	/* Unreadable while the interface is down. */
	{ "carrier", RDMAD_ATTR_QUIET, rdmad_sysfs_int, FIELD(carrier) },
	{ "speed", RDMAD_ATTR_QUIET, rdmad_sysfs_speed, FIELD(speed_mbps) },
};

static char *net_path(const char *name, const char *attribute)
{
	return g_strconcat("sys/class/net/", name, "/", attribute, NULL);
}

/* `path` is that of the interface, and `fd` is open there. */
static void read_netdev(const RdmadAttrDir *dir, RdmadNetdev *netdev, const char *name,
			const char *path, int fd)
{
	g_autofree char *label = g_strconcat("net/", name, "/", NULL);
	const RdmadAttrDir net_dir = { dir->root, dir->dev, path, label, fd };

	rdmad_netdev_init(netdev, name);
	rdmad_attrs_read(&net_dir, netdev_attrs, G_N_ELEMENTS(netdev_attrs), netdev);
	netdev->master = rdmad_sysroot_link_name_at(fd, path, "master", NULL);
}

static void read_netdevs(const RdmadAttrDir *dir, const GPtrArray *names)
{
	RdmadDevice *dev = dir->dev;

	dev->netdevs = g_new0(RdmadNetdev, names->len);
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];
		g_autofree char *path = g_strconcat("sys/class/net/", name, NULL);
		rdmad_autofd int fd = rdmad_sysroot_open_dir(dir->root, path);

		if (fd >= 0)
			read_netdev(dir, &dev->netdevs[dev->n_netdevs++], name, path, fd);
	}
}

/* Returns the port of an interface, from 0.  Old drivers of two-port devices, and IPoIB, have it in
 * dev_id. */
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

/* Checks for a bond, because the master of an interface may also be a bridge. */
static char *find_bond(const RdmadAttrDir *dir)
{
	for (guint i = 0; i < dir->dev->n_netdevs; i++) {
		const char *master = dir->dev->netdevs[i].master;
		g_autofree char *mode = master ? net_path(master, "bonding/mode") : NULL;

		if (mode && rdmad_sysroot_exists(dir->root, mode))
			return g_strdup(master);
	}
	return NULL;
}

void rdmad_scan_netdevs(const RdmadAttrDir *dir)
{
	g_autoptr(GPtrArray) names = rdmad_scan_netdev_names(dir);
	RdmadDevice *dev = dir->dev;

	read_netdevs(dir, names);
	dev->bond = find_bond(dir);
	for (guint i = 0; i < dev->n_ports; i++) {
		const RdmadNetdev *netdev = netdev_of_gids(dev, &dev->ports[i]);

		if (!netdev)
			netdev = netdev_of_port(dir->root, dev, &dev->ports[i]);
		dev->ports[i].netdev = netdev ? g_strdup(netdev->name) : NULL;
	}
}
