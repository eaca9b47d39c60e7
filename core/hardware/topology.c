/* SPDX-License-Identifier: Apache-2.0 */
/* Distances of PCI functions in the terms of `nvidia-smi topo -m`, and the order of NICs by
 * distance */
#include <rdmad/device.h>
#include <string.h>

static gboolean is_empty(char *const *path)
{
	return !path || !path[0];
}

static guint common_length(char *const *a, char *const *b)
{
	guint n = 0;

	while (a[n] && b[n] && !strcmp(a[n], b[n]))
		n++;
	return n;
}

/*
 * A switch is an upstream port, shared by all its devices, and a downstream port for each device.
 * So each of two devices behind one switch has one bridge that is not shared: PIX.
 */
static RdmadDistance distance_below_root(char *const *a, char *const *b, guint common)
{
	const guint below_a = g_strv_length((char **)a) - common - 1;
	const guint below_b = g_strv_length((char **)b) - common - 1;

	return MAX(below_a, below_b) <= 1 ? RDMAD_DISTANCE_PIX : RDMAD_DISTANCE_PXB;
}

RdmadDistance rdmad_pci_distance(char *const *path_a, int numa_a, char *const *path_b, int numa_b)
{
	guint common;

	if (is_empty(path_a) || is_empty(path_b))
		return RDMAD_DISTANCE_SYS;
	common = common_length(path_a, path_b);
	if (!path_a[common] && !path_b[common])
		return RDMAD_DISTANCE_SELF;
	if (common > 1)
		return distance_below_root(path_a, path_b, common);
	if (common == 1)
		return RDMAD_DISTANCE_PHB;
	return numa_a >= 0 && numa_a == numa_b ? RDMAD_DISTANCE_NODE : RDMAD_DISTANCE_SYS;
}

const char *rdmad_distance_name(RdmadDistance distance)
{
	static const char *const names[] = {
		[RDMAD_DISTANCE_SELF] = "X",	[RDMAD_DISTANCE_PIX] = "PIX",
		[RDMAD_DISTANCE_PXB] = "PXB",	[RDMAD_DISTANCE_PHB] = "PHB",
		[RDMAD_DISTANCE_NODE] = "NODE", [RDMAD_DISTANCE_SYS] = "SYS",
	};

	g_assert((gsize)distance < G_N_ELEMENTS(names));
	return names[distance];
}

int rdmad_nearest_gpu(const RdmadDevice *device, const GPtrArray *gpus, RdmadDistance *distance)
{
	int nearest = -1;

	*distance = RDMAD_DISTANCE_SYS;
	for (guint i = 0; gpus && i < gpus->len; i++) {
		const RdmadGpu *gpu = gpus->pdata[i];
		const RdmadDistance d = rdmad_pci_distance(gpu->pci_path, gpu->numa_node,
							   device->pci_path, device->numa_node);

		if (nearest >= 0 && d >= *distance)
			continue;
		nearest = (int)i;
		*distance = d;
	}
	return nearest;
}

int rdmad_nics_compare(const RdmadDevice *a, const RdmadDevice *b, const GPtrArray *gpus)
{
	RdmadDistance distance_a, distance_b;
	const int gpu_a = rdmad_nearest_gpu(a, gpus, &distance_a);
	const int gpu_b = rdmad_nearest_gpu(b, gpus, &distance_b);
	int order = 0;

	if (distance_a != distance_b)
		return distance_a < distance_b ? -1 : 1;
	if (gpu_a != gpu_b)
		return gpu_a < gpu_b ? -1 : 1;
	if (!a->pci_address != !b->pci_address)
		return a->pci_address ? -1 : 1;
	if (a->pci_address)
		order = rdmad_natural_compare(a->pci_address, b->pci_address);
	return order ? order : rdmad_natural_compare(a->name, b->name);
}
