/* SPDX-License-Identifier: Apache-2.0 */
/* Distance of two PCI functions, in the terms of `nvidia-smi topo -m`. */
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
 * A switch shows as an upstream port, which is common to all behind it, and one downstream port for
 * each device.  So two devices behind one switch have one bridge of their own each: PIX.
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
