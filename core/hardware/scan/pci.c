/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI function of an RDMA device, if any, and its SR-IOV role */
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/sysroot.h"
#include "hardware/scan/value.h"

#define VENDOR_NVIDIA_NETWORKING 0x15b3
#define CLASS_INFINIBAND	 0x0207u /* of PCI, without its programming interface */

#define FIELD(member) G_STRUCT_OFFSET(RdmadDevice, member)

static const RdmadAttr pci_attrs[] = {
	{ "vendor", RDMAD_ATTR_REQUIRED, rdmad_sysfs_hex16, FIELD(vendor) },
	{ "device", RDMAD_ATTR_REQUIRED, rdmad_sysfs_hex16, FIELD(device) },
	{ "subsystem_vendor", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_hex16, FIELD(subsystem_vendor) },
	{ "subsystem_device", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_hex16, FIELD(subsystem_device) },
	{ "numa_node", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_int, FIELD(numa_node) },
	{ "sriov_numvfs", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_int, FIELD(num_vfs) },
	{ "acpi_index", RDMAD_ATTR_QUIET, rdmad_sysfs_int, FIELD(acpi_index) },
};

static gboolean is_path_component(const char *name)
{
	return rdmad_sysfs_is_pci_address(name) || rdmad_sysfs_is_host_bridge(name);
}

/*
 * A host bridge may be below another device (a platform device, a VMBus channel) or another
 * function (a volume management device) in "sys/devices/...".
 */
char **rdmad_pci_path_parse(const char *resolved, const char **below)
{
	g_autoptr(GStrvBuilder) path = g_strv_builder_new();
	g_auto(GStrv) names = g_strsplit(resolved, "/", -1);
	gboolean inside = FALSE, function = FALSE;
	const char *rest = resolved;

	for (guint i = 0; names[i]; i++) {
		inside = inside || rdmad_sysfs_is_host_bridge(names[i]);
		if (inside && !is_path_component(names[i]))
			break;
		if (inside) {
			g_strv_builder_add(path, names[i]);
			function = rdmad_sysfs_is_pci_address(names[i]);
		}
		rest += strlen(names[i]);
		rest += *rest == '/';
	}
	if (!function)
		return NULL;
	if (below)
		*below = rest;
	return g_strv_builder_end(path);
}

/* Returns "mlx5_core.sf.4" of "mlx5_core.sf.4/infiniband/mlx5_2"; NULL without such a part. */
static char *parse_aux_name(const char *below)
{
	const char *end = strstr(below, "/infiniband/");

	return end && end != below ? g_strndup(below, (gsize)(end - below)) : NULL;
}

static void read_vfs(RdmadScanner *scanner, const char *pf_path)
{
	g_auto(GStrv) names = rdmad_sysroot_list(scanner->root, pf_path, NULL);

	for (guint i = 0; names && names[i]; i++) {
		g_autofree char *link = g_strconcat(pf_path, "/", names[i], NULL);
		char *address;
		int index;

		if (!g_str_has_prefix(names[i], "virtfn") ||
		    !rdmad_sysfs_int(names[i] + strlen("virtfn"), &index) || index < 0)
			continue;
		address = rdmad_sysroot_link_name(scanner->root, link, NULL);
		if (address)
			g_hash_table_insert(scanner->vf_index, address, GINT_TO_POINTER(index + 1));
	}
}

/* Cached, because a PF may have hundreds of representors beside its interface. */
static char **pf_netdevs(RdmadScanner *scanner, const char *pf_path)
{
	char **names = g_hash_table_lookup(scanner->pf_netdevs, pf_path);

	if (!names) {
		names = rdmad_scan_function_netdevs(scanner->root, pf_path);
		g_hash_table_insert(scanner->pf_netdevs, g_strdup(pf_path), names);
	}
	return g_strdupv(names);
}

/* In a bond, another interface may have the carrier.  An interface that is not up has none. */
static gboolean netdev_has_link(const RdmadSysroot *root, const char *name)
{
	g_autofree char *carrier = g_strconcat("sys/class/net/", name, "/carrier", NULL);
	g_autofree char *master = g_strconcat("sys/class/net/", name, "/master", NULL);
	gint64 value = 0;

	return (rdmad_sysroot_read_int(root, carrier, &value, NULL) && value == 1) ||
	       rdmad_sysroot_exists(root, master);
}

/* Returns RDMAD_UNKNOWN if none of the interfaces is in this network namespace. */
static int netdevs_link(const RdmadSysroot *root, char *const *names)
{
	for (guint i = 0; names[i]; i++)
		if (netdev_has_link(root, names[i]))
			return 1;
	return names[0] ? 0 : RDMAD_UNKNOWN;
}

/* The carrier of an IPoIB interface is not that of the port. */
static int infiniband_link(const RdmadSysroot *root, const char *pf_path)
{
	g_autofree char *class = g_strconcat(pf_path, "/infiniband", NULL);
	g_auto(GStrv) devices = rdmad_sysroot_list(root, class, NULL);
	int link = RDMAD_UNKNOWN;

	for (guint i = 0; devices && devices[i] && link != 1; i++) {
		g_autofree char *ports = g_strdup_printf("%s/%s/ports", class, devices[i]);
		g_auto(GStrv) numbers = rdmad_sysroot_list(root, ports, NULL);

		for (guint n = 0; numbers && numbers[n] && link != 1; n++) {
			g_autofree char *path =
				g_strdup_printf("%s/%s/phys_state", ports, numbers[n]);
			g_autofree char *text = rdmad_sysroot_read(root, path, NULL);
			int state;

			if (text && rdmad_sysfs_phys_state(text, &state) && state != RDMAD_UNKNOWN)
				link = state == RDMAD_PHYS_LINK_UP;
		}
	}
	return link;
}

static gboolean is_infiniband(const RdmadAttrDir *function)
{
	const RdmadAttr attr = { "class", RDMAD_ATTR_QUIET, rdmad_sysfs_pci_class, 0 };
	guint32 class = 0;

	rdmad_attrs_read(function, &attr, 1, &class);
	return class >> 8 == CLASS_INFINIBAND;
}

static void read_sf(RdmadScanner *scanner, RdmadDevice *dev, const char *function)
{
	const RdmadAttr attr = { "sfnum", RDMAD_ATTR_QUIET, rdmad_sysfs_int, FIELD(sf_number) };
	g_autofree char *path = g_strconcat(function, "/", dev->aux_name, NULL);
	rdmad_autofd int fd = rdmad_sysroot_open_dir(scanner->root, path);
	const RdmadAttrDir dir = { scanner->root, dev, path, "aux/", fd };

	/* The virtual functions belong to the parent of the subfunction. */
	dev->num_vfs = RDMAD_UNKNOWN;
	dev->pf_netdevs = pf_netdevs(scanner, function);
	dev->pf_link = netdevs_link(scanner->root, dev->pf_netdevs);
	rdmad_attrs_read(&dir, &attr, 1, dev);
}

static void read_vf(RdmadScanner *scanner, const RdmadAttrDir *function)
{
	RdmadDevice *dev = function->dev;
	g_autofree char *physfn = g_strconcat(function->path, "/physfn", NULL);
	g_autofree char *pf_path = rdmad_sysroot_resolve(scanner->root, physfn, NULL);
	gpointer index;

	dev->pci_role = RDMAD_PCI_VF;
	dev->num_vfs = RDMAD_UNKNOWN;
	if (!pf_path)
		return;
	dev->pf_address = g_path_get_basename(pf_path);
	dev->pf_netdevs = pf_netdevs(scanner, pf_path);
	dev->pf_link = is_infiniband(function) ? infiniband_link(scanner->root, pf_path)
					       : netdevs_link(scanner->root, dev->pf_netdevs);
	if (!g_hash_table_contains(scanner->vf_index, dev->pci_address))
		read_vfs(scanner, pf_path);
	index = g_hash_table_lookup(scanner->vf_index, dev->pci_address);
	dev->vf_index = index ? GPOINTER_TO_INT(index) - 1 : RDMAD_UNKNOWN;
}

/* Only a function with SR-IOV has the file with the number of its virtual functions. */
static void read_role(RdmadScanner *scanner, const RdmadAttrDir *function)
{
	g_autofree char *pf =
		rdmad_sysroot_link_name_at(function->fd, function->path, "physfn", NULL);

	if (pf)
		read_vf(scanner, function);
	else if (function->dev->num_vfs != RDMAD_UNKNOWN)
		function->dev->pci_role = RDMAD_PCI_PF;
}

/* Reads the vital product data only where they tell one role from another, and once in the life of
 * a device, because reading is slow. */
static void read_vpd(const RdmadScanner *scanner, const RdmadAttrDir *function)
{
	RdmadDevice *dev = function->dev;
	const RdmadDevice *last;

	if (dev->vendor != VENDOR_NVIDIA_NETWORKING || dev->pci_role == RDMAD_PCI_VF ||
	    !is_infiniband(function))
		return;
	last = rdmad_scan_find(scanner->before, dev->name, NULL);
	if (rdmad_scan_same_function(dev, last) && !g_strcmp0(dev->node_guid, last->node_guid))
		dev->vpd_model = g_strdup(last->vpd_model);
	if (!dev->vpd_model)
		rdmad_scan_vpd(function);
}

static void read_function(RdmadScanner *scanner, const RdmadAttrDir *dir, const char *path)
{
	RdmadDevice *dev = dir->dev;
	rdmad_autofd int fd = rdmad_sysroot_open_dir(dir->root, path);
	const RdmadAttrDir function = { dir->root, dev, path, "pci/", fd };

	rdmad_attrs_read(&function, pci_attrs, G_N_ELEMENTS(pci_attrs), dev);
	dev->numa_node = MAX(dev->numa_node, RDMAD_UNKNOWN);
	dev->num_vfs = MAX(dev->num_vfs, RDMAD_UNKNOWN);
	dev->driver = rdmad_sysroot_link_name_at(fd, path, "driver", NULL);
	if (dev->aux_name)
		read_sf(scanner, dev, path);
	else
		read_role(scanner, &function);
	if (!dev->aux_name)
		read_vpd(scanner, &function);
}

/* A device on another bus (platform, virtio) still has a driver. */
static void read_other_bus(const RdmadAttrDir *dir)
{
	g_autofree char *link = g_strconcat(dir->path, "/device/driver", NULL);

	dir->dev->driver = rdmad_sysroot_link_name(dir->root, link, NULL);
}

gboolean rdmad_scan_pci_function(RdmadScanner *scanner, RdmadDevice *dev)
{
	const RdmadAttrDir dir = { scanner->root, dev, NULL, NULL, -1 };
	g_autofree char *link = NULL, *path = NULL;

	if (!dev->pci_address)
		return FALSE;
	link = g_strconcat("sys/bus/pci/devices/", dev->pci_address, NULL);
	path = rdmad_sysroot_resolve(scanner->root, link, NULL);
	if (!path)
		return FALSE;
	dev->pci_path = rdmad_pci_path_parse(path, NULL);
	read_function(scanner, &dir, path);
	return TRUE;
}

gboolean rdmad_scan_pci(RdmadScanner *scanner, const RdmadAttrDir *dir)
{
	RdmadDevice *dev = dir->dev;
	const char *below = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *resolved =
		rdmad_sysroot_path_of(dir->root, dir->fd, &scanner->base, dir->path, &error);
	g_autofree char *path = NULL;

	if (!resolved) {
		rdmad_attr_problem(dir, error);
		return !rdmad_sysroot_in_doubt();
	}
	dev->pci_path = rdmad_pci_path_parse(resolved, &below);
	if (!dev->pci_path) {
		read_other_bus(dir);
		return TRUE;
	}
	dev->pci_address = g_strdup(dev->pci_path[g_strv_length(dev->pci_path) - 1]);
	dev->aux_name = parse_aux_name(below);
	path = g_strndup(resolved, (gsize)(below - resolved) - (below[-1] == '/'));
	read_function(scanner, dir, path);
	return TRUE;
}
