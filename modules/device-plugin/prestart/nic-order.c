/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/nic-order.h"

#include <string.h>

#define NCCL_HCAS_MAX 32u
#define NCCL_LINE_MAX 1023u

static int device_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const RdmadDevice *const *x = a, *const *y = b;

	return rdmad_nics_compare(*x, *y, data);
}

void nic_order_sort(GPtrArray *devices, const GPtrArray *gpus)
{
	g_ptr_array_sort_with_data(devices, device_compare, (gpointer)gpus);
}

static void comment_add(GString *text, const RdmadDevice *dev, const GPtrArray *gpus)
{
	RdmadDistance distance;
	const int nearest = rdmad_nearest_gpu(dev, gpus, &distance);

	if (nearest >= 0)
		g_string_append_printf(text, "# %s: %s to the GPU at %s\n", dev->name,
				       rdmad_distance_name(distance),
				       ((const RdmadGpu *)gpus->pdata[nearest])->pci_address);
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
