/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/nic-order.h"

#include <string.h>

#define NCCL_HCAS_MAX 32u
#define NCCL_LINE_MAX 1023u

/* The nearest accelerator, and its distance. */
static int nearest(const RdmadDevice *dev, const GPtrArray *gpus, guint *which)
{
	int near = RDMAD_DISTANCE_SYS + 1;

	*which = 0;
	for (guint i = 0; i < gpus->len; i++) {
		const RdmadGpu *gpu = gpus->pdata[i];
		const int distance = rdmad_pci_distance(dev->pci_path, dev->numa_node,
							gpu->pci_path, gpu->numa_node);

		if (distance >= near)
			continue;
		near = distance;
		*which = i;
	}
	return near;
}

static int device_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const RdmadDevice *const *x = a, *const *y = b;
	guint gpu_x, gpu_y;
	const int near_x = nearest(*x, data, &gpu_x), near_y = nearest(*y, data, &gpu_y);

	if (near_x != near_y)
		return near_x < near_y ? -1 : 1;
	if (gpu_x != gpu_y)
		return gpu_x < gpu_y ? -1 : 1;
	return rdmad_natural_compare((*x)->name, (*y)->name);
}

void nic_order_sort(GPtrArray *devices, const GPtrArray *gpus)
{
	g_ptr_array_sort_with_data(devices, device_compare, (gpointer)gpus);
}

static void comment_add(GString *text, const RdmadDevice *dev, const GPtrArray *gpus)
{
	guint which;
	const int near = nearest(dev, gpus, &which);

	if (gpus->len)
		g_string_append_printf(text, "# %s: %s to the GPU at %s\n", dev->name,
				       rdmad_distance_name((RdmadDistance)near),
				       ((const RdmadGpu *)gpus->pdata[which])->pci_address);
}

char *nic_order_nccl_conf(const GPtrArray *devices, const GPtrArray *gpus)
{
	g_autoptr(GString) list = g_string_new("NCCL_IB_HCA=");
	GString *text = g_string_new("# NCCL settings for this container, by rdmad.  Variables in "
				     "the environment win.\n");

	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		comment_add(text, dev, gpus);
		if (i < NCCL_HCAS_MAX && list->len + 1 + strlen(dev->name) <= NCCL_LINE_MAX)
			g_string_append_printf(list, "%s%s", i ? "," : "=", dev->name);
	}
	if (devices->len)
		g_string_append_printf(text, "%s\n", list->str);
	return g_string_free(text, FALSE);
}
