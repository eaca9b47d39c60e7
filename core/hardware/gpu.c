/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs and other accelerators, recognized by PCI class, vendor and device ID, without their drivers
 *
 * Class codes: PCI Code and ID Assignment Specification.  The class alone does not tell a GPU from
 * the graphics of a processor or of a management controller, which have the same, nor from the
 * FPGAs, NPUs and compression engines of class 1200.  The IDs that a vendor gives to the one and
 * not to the other are those of the drivers' tables: AMD's drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c,
 * where the chips with AMD_IS_APU are below 2000 and above 9000; Intel's
 * include/drm/intel/pciids.h; for Huawei's class 1200 drivers/crypto/hisilicon and pci.ids.
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
	int vendor, first, last; /* device IDs */
	guint32 classes[4];
} kinds[] = {
	/* NVIDIA */
	{ 0x10de, 0, 0xffff, { CLASS_VGA, CLASS_3D } },
	/* AMD: discrete chips since 2012; Instinct of the last ones */
	{ 0x1002, 0x6600, 0x77ff, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },
	{ 0x1002, 0, 0xffff, { CLASS_ACCELERATOR } },
	/* Intel: Data Center Max; DG1; Arc and Data Center Flex; Arc B */
	{ 0x8086, 0x0b69, 0x0bdf, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },
	{ 0x8086, 0x4905, 0x4909, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },
	{ 0x8086, 0x5690, 0x56cf, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },
	{ 0x8086, 0xe200, 0xe2ff, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },
	/* Habana */
	{ 0x1da3, 0, 0xffff, { CLASS_ACCELERATOR } },
	/* Huawei Ascend; a2xx are the engines of Kunpeng */
	{ 0x19e5, 0xd100, 0xd8ff, { CLASS_ACCELERATOR } },
	/* Cambricon */
	{ 0xcabc, 0, 0xffff, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } },
	/* Hygon */
	{ 0x1d94, 0, 0xffff, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } },
	/* Moore Threads */
	{ 0x1ed5, 0, 0xffff, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },
	/* Iluvatar */
	{ 0x1e3e, 0, 0xffff, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } },
	/* Enflame */
	{ 0x1e36, 0, 0xffff, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } },
};

/* A device ID that could not be read, RDMAD_UNKNOWN, is none of a vendor that makes others. */
static gboolean is_gpu(int vendor, int device, guint32 class)
{
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		for (guint j = 0; j < 4; j++)
			if (kinds[i].vendor == vendor && MAX(device, 0) >= kinds[i].first &&
			    device <= kinds[i].last && kinds[i].classes[j] &&
			    kinds[i].classes[j] == class >> 8)
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
	    !read_value(root, device, "vendor", rdmad_sysfs_hex16, &vendor))
		return NULL;
	read_value(root, device, "device", rdmad_sysfs_hex16, &id);
	if (!is_gpu(vendor, id, class))
		return NULL;
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
