/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <stdlib.h>
#include <string.h>

static void device_clear(gpointer data)
{
	NcclViewDevice *entry = data;

	rdmad_device_unref(entry->device);
}

static void gpu_free(gpointer data)
{
	RdmadGpu *gpu = data;

	g_free(gpu->pci_address);
	g_strfreev(gpu->pci_path);
	g_free(gpu);
}

NcclView *nccl_view_new(void)
{
	NcclView *view = g_new0(NcclView, 1);

	view->devices = g_array_new(FALSE, FALSE, sizeof(NcclViewDevice));
	g_array_set_clear_func(view->devices, device_clear);
	view->gpus = g_ptr_array_new_with_free_func(gpu_free);
	view->default_netdevs = g_new0(char *, 1);
	return view;
}

void nccl_view_free(NcclView *view)
{
	g_array_unref(view->devices);
	g_ptr_array_unref(view->gpus);
	g_clear_pointer(&view->addresses, nccl_addresses_free);
	g_strfreev(view->default_netdevs);
	g_free(view);
}

void nccl_view_add_device(NcclView *view, const RdmadDevice *device, gboolean granted)
{
	const NcclViewDevice entry = { .device = rdmad_device_ref(device), .granted = granted };

	g_array_append_val(view->devices, entry);
}

void nccl_view_leave_out(NcclView *view, const RdmadPort *port)
{
	NcclViewDevice *entry =
		&g_array_index(view->devices, NcclViewDevice, view->devices->len - 1);

	entry->left_out[port->number % 256 / 64] |= G_GUINT64_CONSTANT(1) << port->number % 64;
}

gboolean nccl_view_leaves_out(const NcclViewDevice *entry, const RdmadPort *port)
{
	return entry->left_out[port->number % 256 / 64] >> port->number % 64 & 1;
}

void nccl_view_add_gpu(NcclView *view, const RdmadGpu *gpu)
{
	RdmadGpu *copy = g_new0(RdmadGpu, 1);

	*copy = *gpu;
	copy->pci_address = g_strdup(gpu->pci_address);
	copy->pci_path = g_strdupv(gpu->pci_path);
	g_ptr_array_add(view->gpus, copy);
}

static int device_compare(gconstpointer a, gconstpointer b)
{
	const NcclViewDevice *x = a, *y = b;

	return rdmad_natural_compare(x->device->name, y->device->name);
}

static int gpu_compare(gconstpointer a, gconstpointer b)
{
	const RdmadGpu *const *x = a, *const *y = b;

	return strcmp((*x)->pci_address, (*y)->pci_address);
}

void nccl_view_sort(NcclView *view)
{
	g_array_sort(view->devices, device_compare);
	g_ptr_array_sort(view->gpus, gpu_compare);
	if (view->devices->len > NCCL_VIEW_DEVICES) {
		g_array_set_size(view->devices, NCCL_VIEW_DEVICES);
		view->cut = TRUE;
	}
}

void nccl_view_set_network(NcclView *view, NcclAddresses *addresses, char **default_netdevs)
{
	g_clear_pointer(&view->addresses, nccl_addresses_free);
	g_strfreev(view->default_netdevs);
	view->addresses = addresses;
	view->default_netdevs = default_netdevs;
}

const NcclViewDevice *nccl_view_device(const NcclView *view, guint index)
{
	return &g_array_index(view->devices, NcclViewDevice, index);
}

gboolean nccl_view_owns(const NcclView *view, const RdmadGid *gid)
{
	return !view->addresses || nccl_addresses_have(view->addresses, gid->raw);
}
