/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes the scan of sysfs with netlink
 *
 * Values that change by themselves (port and link state, LIDs, MTU) are taken from netlink, which
 * was read later; constant ones (names, GUIDs, firmware) only where sysfs had none.
 */
#include "hardware/scan/netlink.h"

#include <errno.h>
#include <rdmad/error.h>
#include <string.h>

#include "hardware/netlink/rdma.h"
#include "hardware/netlink/route.h"
#include "hardware/device.h"

static void fill_string(char **field, const char *value)
{
	if (!*field)
		*field = g_strdup(value);
}

static void take_int(int *field, int value)
{
	if (value != RDMAD_UNKNOWN)
		*field = value;
}

static RdmadPort *device_port(RdmadDevice *dev, guint number)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].number == number)
			return &dev->ports[i];
	return NULL;
}

static void port_complete(RdmadPort *port, const RdmadNldevPort *from)
{
	take_int(&port->state, from->state);
	take_int(&port->phys_state, from->phys_state);
	take_int(&port->lid, from->lid);
	take_int(&port->sm_lid, from->sm_lid);
	fill_string(&port->netdev, from->netdev);
}

static void device_complete_ports(RdmadScan *scan, RdmadDevice *dev, RdmadNetlink *nl)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) ports = rdmad_nldev_get_ports(nl, (guint)dev->index, &error);

	if (!ports) {
		rdmad_device_add_problem(dev, "ports: %s", error->message);
		rdmad_scan_doubt(scan, dev->name, EIO);
		return;
	}
	for (guint i = 0; i < ports->len; i++) {
		const RdmadNldevPort *from = ports->pdata[i];
		RdmadPort *port = device_port(dev, from->number);

		if (port)
			port_complete(port, from);
	}
}

static void device_complete(RdmadScan *scan, RdmadDevice *dev, const RdmadNldevDevice *from,
			    RdmadNetlink *nl)
{
	dev->index = (int)from->index;
	if (dev->node_type == RDMAD_NODE_UNKNOWN && from->node_type != RDMAD_UNKNOWN)
		dev->node_type = from->node_type;
	fill_string(&dev->firmware, from->firmware);
	fill_string(&dev->node_guid, from->node_guid);
	fill_string(&dev->sys_image_guid, from->sys_image_guid);
	if (from->parent) {
		g_free(dev->parent);
		dev->parent = g_strdup(from->parent);
	}
	if (!dev->driver)
		dev->driver = g_strdup(rdmad_nldev_get_driver(nl, from->index));
	device_complete_ports(scan, dev, nl);
}

/* Gets all devices, or each device of a partial scan by its index. */
static GPtrArray *devices_get(const RdmadScan *scan, RdmadNetlink *nl, GError **error)
{
	g_autoptr(GPtrArray) devices =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_nldev_device_free);

	if (!scan->partial)
		return rdmad_nldev_get_devices(nl, error);
	for (guint i = 0; i < scan->devices->len; i++) {
		const RdmadDevice *dev = scan->devices->pdata[i];
		GPtrArray *one;

		if (dev->index == RDMAD_UNKNOWN)
			continue;
		one = rdmad_nldev_get_device(nl, (guint)dev->index, error);
		if (!one)
			return NULL;
		g_ptr_array_extend_and_steal(devices, one);
	}
	return g_steal_pointer(&devices);
}

static gboolean scan_complete_rdma(RdmadScan *scan, RdmadNetlink *nl, GError **error)
{
	g_autoptr(GPtrArray) known = devices_get(scan, nl, error);
	g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);

	if (!known)
		return FALSE;
	for (guint i = 0; i < known->len; i++)
		g_hash_table_insert(by_name, ((RdmadNldevDevice *)known->pdata[i])->name,
				    known->pdata[i]);
	for (guint i = scan->devices->len; i-- > 0;) {
		RdmadDevice *dev = scan->devices->pdata[i];
		const RdmadNldevDevice *from = g_hash_table_lookup(by_name, dev->name);

		if (from)
			device_complete(scan, dev, from, nl);
		else if (scan->partial && dev->index != RDMAD_UNKNOWN)
			g_ptr_array_remove_index(scan->devices, i);
	}
	return TRUE;
}

/* Links of rtnetlink, by interface index. */
typedef struct {
	GPtrArray *links, *addresses;
} Interfaces;

static void interfaces_clear(Interfaces *ifs)
{
	g_clear_pointer(&ifs->links, g_ptr_array_unref);
	g_clear_pointer(&ifs->addresses, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Interfaces, interfaces_clear)

/* Takes `more` over.  Returns FALSE if it is NULL. */
static gboolean add_to(GPtrArray *all, GPtrArray *more)
{
	if (more)
		g_ptr_array_extend_and_steal(all, more);
	return more != NULL;
}

static gboolean interfaces_add(Interfaces *ifs, RdmadNetlink *nl, const RdmadNetdev *netdev,
			       GError **error)
{
	GPtrArray *found = rdmad_route_get_link(nl, MAX(netdev->ifindex, 0), netdev->name, error);
	const int ifindex = found && found->len ? ((RdmadLink *)found->pdata[0])->ifindex : 0;

	if (!add_to(ifs->links, found))
		return FALSE;
	return !ifindex || add_to(ifs->addresses, rdmad_route_get_addresses_of(nl, ifindex, error));
}

/* Gets each interface of the scanned devices.  Their masters are known from sysfs. */
static gboolean interfaces_get_some(Interfaces *ifs, const RdmadScan *scan, RdmadNetlink *nl,
				    GError **error)
{
	ifs->links = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_link_free);
	ifs->addresses = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < scan->devices->len; i++) {
		const RdmadDevice *dev = scan->devices->pdata[i];

		for (guint n = 0; n < dev->n_netdevs; n++)
			if (!interfaces_add(ifs, nl, &dev->netdevs[n], error))
				return FALSE;
	}
	return TRUE;
}

static gboolean interfaces_get_all(Interfaces *ifs, RdmadNetlink *nl, GError **error)
{
	ifs->links = rdmad_route_get_links(nl, error);
	if (ifs->links)
		ifs->addresses = rdmad_route_get_addresses(nl, error);
	return ifs->addresses != NULL;
}

static gboolean interfaces_get(Interfaces *ifs, const RdmadScan *scan, GError **error)
{
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_ROUTE, error);
	const gboolean known = nl && (scan->partial ? interfaces_get_some(ifs, scan, nl, error)
						    : interfaces_get_all(ifs, nl, error));

	if (!known)
		return FALSE;
	for (guint i = 0; i < ifs->links->len; i++) {
		RdmadLink *link = ifs->links->pdata[i];
		g_autofree char *name = g_steal_pointer(&link->name);

		/* Makes the name valid in the same way as names from sysfs and RDMA netlink. */
		link->name = g_utf8_make_valid(name, -1);
	}
	return TRUE;
}

static const RdmadLink *interfaces_by_name(const Interfaces *ifs, const char *name)
{
	for (guint i = 0; i < ifs->links->len; i++) {
		const RdmadLink *link = ifs->links->pdata[i];

		if (strcmp(link->name, name) == 0)
			return link;
	}
	return NULL;
}

static const char *interfaces_name(const Interfaces *ifs, int ifindex)
{
	for (guint i = 0; i < ifs->links->len; i++) {
		const RdmadLink *link = ifs->links->pdata[i];

		if (link->ifindex == ifindex)
			return link->name;
	}
	return NULL;
}

/* Sorts the addresses, so that another order in the kernel is not a change. */
static char **interfaces_addresses(const Interfaces *ifs, int ifindex)
{
	GPtrArray *found = g_ptr_array_new();

	for (guint i = 0; i < ifs->addresses->len; i++) {
		const RdmadAddress *address = ifs->addresses->pdata[i];
		char text[RDMAD_IP_TEXT];

		if (address->ifindex == ifindex)
			g_ptr_array_add(found, g_strdup(rdmad_ip_text(&address->ip, TRUE, text)));
	}
	g_ptr_array_sort(found, rdmad_natural_compare_entries);
	g_ptr_array_add(found, NULL);
	return (char **)g_ptr_array_free(found, FALSE);
}

static void netdev_complete(RdmadNetdev *netdev, const Interfaces *ifs)
{
	const RdmadLink *link = interfaces_by_name(ifs, netdev->name);

	if (!link)
		return;
	netdev->ifindex = link->ifindex;
	netdev->up = link->up;
	netdev->carrier = link->carrier;
	netdev->carrier_changes = link->carrier_changes;
	take_int(&netdev->mtu,
		 link->mtu && link->mtu <= G_MAXINT32 ? (int)link->mtu : RDMAD_UNKNOWN);
	fill_string(&netdev->mac, link->mac);
	fill_string(&netdev->master, interfaces_name(ifs, link->master));
	if (link->operstate) {
		g_free(netdev->operstate);
		netdev->operstate = g_strdup(link->operstate);
	}
	g_strfreev(netdev->addresses);
	netdev->addresses = interfaces_addresses(ifs, link->ifindex);
}

static int compare_netdevs(gconstpointer a, gconstpointer b)
{
	return rdmad_natural_compare(((const RdmadNetdev *)a)->name,
				     ((const RdmadNetdev *)b)->name);
}

/* Only the port names the interface of a software device. */
static void device_add_netdev(RdmadDevice *dev, const char *name)
{
	if (!name || rdmad_device_netdev(dev, name))
		return;
	dev->netdevs = g_renew(RdmadNetdev, dev->netdevs, dev->n_netdevs + 1);
	dev->netdevs[dev->n_netdevs++] = (RdmadNetdev){
		.name = g_strdup(name),
		.mtu = RDMAD_UNKNOWN,
		.up = RDMAD_UNKNOWN,
		.carrier = RDMAD_UNKNOWN,
		.carrier_changes = RDMAD_UNKNOWN,
		.speed_mbps = RDMAD_UNKNOWN,
		.addresses = g_new0(char *, 1),
	};
	qsort(dev->netdevs, dev->n_netdevs, sizeof(*dev->netdevs), compare_netdevs);
}

static void scan_complete_route(RdmadScan *scan)
{
	g_auto(Interfaces) ifs = { NULL };
	g_autoptr(GError) error = NULL;
	gboolean known;

	for (guint i = 0; i < scan->devices->len; i++) {
		RdmadDevice *dev = scan->devices->pdata[i];

		for (guint p = 0; p < dev->n_ports; p++)
			device_add_netdev(dev, dev->ports[p].netdev);
	}
	known = interfaces_get(&ifs, scan, &error);
	for (guint i = 0; i < scan->devices->len; i++) {
		RdmadDevice *dev = scan->devices->pdata[i];

		if (!known) {
			rdmad_device_add_problem(dev, "addresses: %s", error->message);
			rdmad_scan_doubt(scan, dev->name, EIO);
		}
		for (guint n = 0; known && n < dev->n_netdevs; n++)
			netdev_complete(&dev->netdevs[n], &ifs);
	}
}

gboolean rdmad_netlink_complete(RdmadScan *scan, GError **error)
{
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_RDMA, error);

	scan_complete_route(scan);
	if (!nl || !scan_complete_rdma(scan, nl, error))
		return FALSE;
	/* Kernels before 5.2 have only the mode that is now called "shared".  A change of the mode
	 * causes no event. */
	fill_string(&scan->netns_mode, rdmad_nldev_get_netns_mode(nl, NULL));
	return TRUE;
}
