/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs and other accelerators, recognized by PCI class and vendor, without their drivers
 *
 * Class codes: PCI Code and ID Assignment Specification.  A VGA controller (0300) counts only for
 * vendors that do not make management controllers or processors with integrated graphics.
 */
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/scan/value.h"
#include "hardware/device.h"

#define CLASS_VGA	  0x0300u
#define CLASS_3D	  0x0302u
#define CLASS_DISPLAY	  0x0380u
#define CLASS_ACCELERATOR 0x1200u

static const struct {
	int vendor;
	guint32 classes[4];
} vendors[] = {
	{ 0x10de, { CLASS_VGA, CLASS_3D } },			    /* NVIDIA */
	{ 0x1002, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } }, /* AMD */
	{ 0x8086, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } }, /* Intel */
	{ 0x1da3, { CLASS_ACCELERATOR } },			    /* Habana */
	{ 0x19e5, { CLASS_ACCELERATOR } },			    /* Huawei Ascend */
	{ 0xcabc, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } }, /* Cambricon */
	{ 0x1d94, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } }, /* Hygon */
	{ 0x1ed5, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },	    /* Moore Threads */
	{ 0x1e3e, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } }, /* Iluvatar */
	{ 0x1e36, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } }, /* Enflame */
};

static gboolean is_gpu(int vendor, guint32 class)
{
	for (guint i = 0; i < G_N_ELEMENTS(vendors); i++)
		for (guint j = 0; j < 4; j++)
			if (vendors[i].vendor == vendor && vendors[i].classes[j] &&
			    vendors[i].classes[j] == class >> 8)
				return TRUE;
	return FALSE;
}

static gboolean read_value(const RdmadSysroot *root, const char *device, const char *attribute,
			   gboolean (*parse)(const char *text, gpointer out), gpointer out)
{
	g_autofree char *path = g_strconcat(device, "/", attribute, NULL);
	g_autofree char *text = rdmad_sysroot_read(root, path, NULL);

	return text && parse(text, out);
}

/* Returns NULL if the function is not a GPU.  The class is read first, because most functions
 * are not. */
static RdmadGpu *read_gpu(const RdmadSysroot *root, const char *address)
{
	g_autofree char *device = g_strconcat("sys/bus/pci/devices/", address, NULL);
	g_autofree char *resolved = NULL;
	guint32 class;
	int vendor, id = RDMAD_UNKNOWN, numa = RDMAD_UNKNOWN;
	RdmadGpu *gpu;

	if (!read_value(root, device, "class", rdmad_sysfs_pci_class, &class) ||
	    (class >> 16 != 0x03 && class >> 16 != 0x12) ||
	    !read_value(root, device, "vendor", rdmad_sysfs_hex16, &vendor) ||
	    !is_gpu(vendor, class))
		return NULL;
	read_value(root, device, "device", rdmad_sysfs_hex16, &id);
	read_value(root, device, "numa_node", rdmad_sysfs_int, &numa);
	resolved = rdmad_sysroot_resolve(root, device, NULL);
	gpu = g_new0(RdmadGpu, 1);
	gpu->pci_address = g_strdup(address);
	gpu->vendor = vendor;
	gpu->device = id;
	gpu->numa_node = MAX(numa, RDMAD_UNKNOWN);
	gpu->pci_path = resolved ? rdmad_pci_path_parse(resolved, NULL) : NULL;
	return gpu;
}

void rdmad_scan_gpus(const RdmadSysroot *root, GPtrArray *gpus)
{
	g_auto(GStrv) names = rdmad_sysroot_list(root, "sys/bus/pci/devices", NULL);

	for (guint i = 0; names && names[i]; i++) {
		RdmadGpu *gpu =
			rdmad_sysfs_is_pci_address(names[i]) ? read_gpu(root, names[i]) : NULL;

		if (gpu)
			g_ptr_array_add(gpus, gpu);
	}
}
