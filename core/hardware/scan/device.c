/* SPDX-License-Identifier: Apache-2.0 */
/* Scans one RDMA device of /sys/class/infiniband */
#include <rdmad/fd.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"

#define FIELD(member) G_STRUCT_OFFSET(RdmadDevice, member)

static const RdmadAttr device_attrs[] = {
	{ "node_type", RDMAD_ATTR_REQUIRED, rdmad_sysfs_node_type, FIELD(node_type) },
	{ "node_guid", RDMAD_ATTR_REQUIRED, rdmad_sysfs_guid, FIELD(node_guid) },
	{ "sys_image_guid", RDMAD_ATTR_REQUIRED, rdmad_sysfs_guid, FIELD(sys_image_guid) },
	{ "fw_ver", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_text, FIELD(firmware) },
	{ "hca_type", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_text, FIELD(hca_type) },
	{ "board_id", RDMAD_ATTR_OPTIONAL, rdmad_sysfs_text, FIELD(board_id) },
};

RdmadDevice *rdmad_scan_device(RdmadScanner *scanner, const char *name)
{
	g_autofree char *path = g_strconcat("sys/class/infiniband/", name, NULL);
	/* Directories stay open, because resolving their path is most of the cost of a read.  A
	 * device that is temporarily unreadable is in doubt, not gone. */
	rdmad_autofd int fd = rdmad_sysroot_open_dir(scanner->root, path);
	g_autoptr(GArray) gids = NULL;
	RdmadDevice *dev;
	RdmadAttrDir dir;

	if (fd < 0)
		return NULL;
	dev = rdmad_device_new(name, name);
	dir = (RdmadAttrDir){ scanner->root, dev, path, "", fd };
	rdmad_attrs_read(&dir, device_attrs, G_N_ELEMENTS(device_attrs), dev);
	if (!rdmad_scan_pci(scanner, &dir)) {
		rdmad_device_unref(dev);
		return NULL;
	}
	gids = rdmad_scan_query_gids(scanner, name);
	rdmad_scan_ports(&dir, gids);
	rdmad_scan_netdevs(&dir);
	rdmad_scan_take_chardevs(scanner, name, dev);
	return dev;
}
