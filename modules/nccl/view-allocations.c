/* SPDX-License-Identifier: Apache-2.0 */
#include "view-allocations.h"

#include <rdmad/allocations.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <string.h>

#include "gid.h"

static void add_gpus(NcclView *view, RdmadInventory *inventory)
{
	for (guint i = 0; i < rdmad_inventory_gpu_count(inventory); i++)
		nccl_view_add_gpu(view, rdmad_inventory_gpu(inventory, i));
}

static gboolean view_has(const NcclView *view, const char *name)
{
	for (guint i = 0; i < view->devices->len; i++)
		if (g_str_equal(nccl_view_device(view, i)->device->name, name))
			return TRUE;
	return FALSE;
}

static void add_device(NcclView *view, const RdmadDevice *device)
{
	if (device && !view_has(view, device->name))
		nccl_view_add_device(view, device,
				     rdmad_device_chardev(device, RDMAD_CHARDEV_UVERBS) != NULL);
}

/* ---- addresses ---- */

/* Addresses from the database are validated like any input. */
static void add_addresses(NcclAddresses **addresses, char *const *texts)
{
	for (guint i = 0; texts && texts[i]; i++) {
		g_autoptr(GError) error = NULL;

		if (!nccl_addresses_add(addresses, texts[i], &error))
			rdmad_debug("%s", error->message);
	}
}

/* Returns NULL if the inventory has no addresses, as on a recorded machine. */
static NcclAddresses *host_addresses(const NcclView *view)
{
	g_autoptr(NcclAddresses) addresses = nccl_addresses_new();

	for (guint i = 0; i < view->devices->len; i++) {
		const RdmadDevice *device = nccl_view_device(view, i)->device;

		for (guint n = 0; n < device->n_netdevs; n++)
			add_addresses(&addresses, device->netdevs[n].addresses);
	}
	return nccl_addresses_count(addresses) ? g_steal_pointer(&addresses) : NULL;
}

/* ---- moved devices ---- */

/* Adds the interface, and the GID that CNI recorded: an index and the first address. */
static void port_fill(RdmadPort *port, const RdmadAttachment *attachment)
{
	guint8 address[16];

	port->netdev = g_strdup(attachment->interface);
	if (port->link_layer != RDMAD_LINK_LAYER_ETHERNET || attachment->gid_index < 0 ||
	    !attachment->addresses || !attachment->addresses[0] ||
	    !nccl_address_parse(attachment->addresses[0], address, NULL))
		return;
	port->n_gids = 1;
	port->gids = g_new0(RdmadGid, 1);
	port->gids[0] = (RdmadGid){ .index = attachment->gid_index,
				    .type = RDMAD_GID_ROCE_V2,
				    .netdev = g_strdup(attachment->interface) };
	memcpy(port->gids[0].raw, address, 16);
}

/* A device of which nothing else is known is taken for RoCE. */
static RdmadDevice *device_without_snapshot(const char *name)
{
	RdmadDevice *device = rdmad_device_new(name, name);

	device->node_type = RDMAD_NODE_CA;
	device->n_ports = 1;
	device->ports = g_new0(RdmadPort, 1);
	device->ports[0] = (RdmadPort){ .number = 1,
					.link_layer = RDMAD_LINK_LAYER_ETHERNET,
					.phys_state = RDMAD_UNKNOWN,
					.pkey0 = RDMAD_UNKNOWN };
	return device;
}

static const RdmadDevice *away_device(RdmadInventory *inventory, const RdmadAllocation *allocation,
				      const char *name)
{
	for (guint i = 0; allocation->devices[i]; i++) {
		const RdmadAwayDevice *away =
			rdmad_inventory_find_away(inventory, allocation->devices[i]);

		if (away && g_str_equal(away->device->name, name))
			return away->device;
	}
	return NULL;
}

/* The interface is that of the first port, which may have been down in the host. */
static RdmadDevice *moved_device(RdmadInventory *inventory, const RdmadAllocation *allocation,
				 const RdmadAttachment *attachment)
{
	const RdmadDevice *last = away_device(inventory, allocation, attachment->rdma_device);
	RdmadDevice *device =
		last ? rdmad_device_copy(last) : device_without_snapshot(attachment->rdma_device);

	for (guint i = 0; i < device->n_ports; i++)
		g_clear_pointer(&device->ports[i].netdev, g_free);
	if (device->n_ports) {
		device->ports[0].state = RDMAD_PORT_ACTIVE;
		port_fill(&device->ports[0], attachment);
	}
	return device;
}

static void add_attachment(NcclView *view, NcclAddresses **addresses, RdmadInventory *inventory,
			   const RdmadAllocation *allocation, const RdmadAttachment *attachment)
{
	RdmadDevice *device;

	add_addresses(addresses, attachment->addresses);
	if (!attachment->rdma_device || view_has(view, attachment->rdma_device))
		return;
	device = moved_device(inventory, allocation, attachment);
	nccl_view_add_device(view, device, TRUE);
	g_array_index(view->devices, NcclViewDevice, view->devices->len - 1).moved = TRUE;
	rdmad_device_unref(device);
}

/* ---- views ---- */

static gboolean has_exposed(const RdmadAllocation *allocation)
{
	return g_strv_length(allocation->devices) > g_strv_length(allocation->slots);
}

/* Returns whether one of the allocations has the port of its device. */
static gboolean is_allocated(const GPtrArray *allocations, RdmadAllocations *table,
			     const RdmadDevice *device, const RdmadPort *port)
{
	for (guint i = 0; i < allocations->len; i++)
		if (rdmad_allocation_has_device(allocations->pdata[i], device->id) &&
		    rdmad_allocations_port_counts(table, allocations->pdata[i], device, port))
			return TRUE;
	return FALSE;
}

static void add_allocated(NcclView *view, const GPtrArray *allocations, RdmadAllocations *table,
			  const RdmadDevice *device)
{
	const guint before = view->devices->len;

	add_device(view, device);
	if (!table || view->devices->len == before)
		return;
	for (guint i = 0; i < device->n_ports; i++)
		if (!is_allocated(allocations, table, device, &device->ports[i]))
			nccl_view_leave_out(view, &device->ports[i]);
}

NcclView *nccl_view_of_allocations(const GPtrArray *allocations, RdmadAllocations *table,
				   RdmadInventory *inventory, gboolean host_network,
				   const NcclNetwork *network)
{
	NcclAddresses *addresses =
		network ? nccl_addresses_ref(network->addresses) : nccl_addresses_new();
	NcclView *view = nccl_view_new();
	guint attachments = 0;

	view->allocated = TRUE;
	add_gpus(view, inventory);
	for (guint i = 0; i < allocations->len; i++) {
		const RdmadAllocation *allocation = allocations->pdata[i];

		if (has_exposed(allocation))
			view->allocated = FALSE;
		for (guint d = 0; allocation->devices[d]; d++)
			add_allocated(view, allocations, table,
				      rdmad_inventory_lookup(inventory, allocation->devices[d]));
		for (guint a = 0; a < allocation->n_attachments; a++)
			add_attachment(view, &addresses, inventory, allocation,
				       &allocation->attachments[a]);
		attachments += allocation->n_attachments;
	}
	if (!network && attachments == 0 && host_network) {
		nccl_addresses_free(addresses);
		addresses = host_addresses(view);
	}
	nccl_view_set_network(view, addresses,
			      network ? g_strdupv(network->default_netdevs) : g_new0(char *, 1));
	nccl_view_sort(view);
	return view;
}

NcclView *nccl_view_of_node(RdmadInventory *inventory)
{
	NcclView *view = nccl_view_new();

	add_gpus(view, inventory);
	for (guint i = 0; i < rdmad_inventory_count(inventory); i++)
		add_device(view, rdmad_inventory_nth(inventory, i));
	nccl_view_set_network(view, host_addresses(view), g_new0(char *, 1));
	nccl_view_sort(view);
	return view;
}
