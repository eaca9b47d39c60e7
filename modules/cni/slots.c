/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"
#include "operation.h"

#include <rdmad/allocations.h>
#include <rdmad/cgroup-pod.h>
#include <rdmad/inventory.h>

typedef struct {
	const CniRequest *request;
	GPtrArray *held;  /* of RdmadAllocation: of the pod */
	gboolean unnamed; /* the pod of an allocation is not known yet */
} Collect;

/* A container has one allocation of a resource, so the later one replaces the earlier one, which
 * belongs to a terminating pod of the same name. */
static guint place_of(const GPtrArray *held, const RdmadAllocation *allocation)
{
	guint i;

	for (i = 0; i < held->len; i++) {
		const RdmadAllocation *older = held->pdata[i];

		if (g_str_equal(older->resource, allocation->resource) &&
		    g_strcmp0(older->container, allocation->container) == 0)
			break;
	}
	return i;
}

/* Returns TRUE if the cgroup of the allocation has another UID than the pod: a pod of this name,
 * whose deletion was forced, runs on. */
static gboolean is_of_another_pod(const CniRequest *request, const RdmadAllocation *allocation)
{
	char uid[sizeof(((RdmadCgroupPod *)NULL)->uid)];

	return request->pod_uid && allocation->pod_cgroup &&
	       rdmad_cgroup_pod_path(allocation->pod_cgroup, uid) &&
	       !g_str_equal(uid, request->pod_uid);
}

static void allocation_collect(const RdmadAllocation *allocation, gpointer data)
{
	Collect *collect = data;
	guint place;

	collect->unnamed |= !allocation->pod_name;
	/* podresources lists no init containers, so an allocation without a container may be of a
	 * pod that ended before it was listed, and whose slots this pod has now.  The other
	 * containers of the pod have the slots that remain. */
	if (!cni_request_is_for(collect->request, allocation->pod_namespace,
				allocation->pod_name) ||
	    !allocation->container || is_of_another_pod(collect->request, allocation))
		return;
	place = place_of(collect->held, allocation);
	if (place < collect->held->len)
		rdmad_allocation_unref(collect->held->pdata[place]);
	else
		g_ptr_array_add(collect->held, NULL);
	collect->held->pdata[place] = (gpointer)rdmad_allocation_ref(allocation);
}

/* Returns the last allocation of each resource of each container of the pod.  Sets `unnamed`, which
 * may be NULL, to whether the pod of an allocation is not known yet. */
static GPtrArray *allocations_of(Cni *cni, const CniRequest *request, gboolean *unnamed)
{
	Collect collect = { request, NULL, FALSE };

	collect.held = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_allocation_unref);
	if (request->pod_namespace && request->pod_name)
		rdmad_allocations_foreach(rdmad_module_allocations(cni->self), allocation_collect,
					  &collect);
	if (unnamed)
		*unnamed = collect.unnamed;
	return collect.held;
}

gboolean cni_slots_replace(Cni *cni, const CniRequest *request, const GPtrArray *ended)
{
	g_autoptr(GPtrArray) held = allocations_of(cni, request, NULL);

	for (guint i = 0; i < ended->len; i++)
		if (place_of(held, ended->pdata[i]) == held->len)
			return FALSE;
	return TRUE;
}

/* Containers of a pod may share a slot. */
static gboolean slot_is_there(const GArray *slots, const RdmadAllocation *allocation,
			      const char *slot_id)
{
	for (guint i = 0; i < slots->len; i++) {
		const CniSlot *slot = &g_array_index(slots, CniSlot, i);

		if (g_str_equal(slot->resource, allocation->resource) &&
		    g_str_equal(slot->slot_id, slot_id))
			return TRUE;
	}
	return FALSE;
}

static const char *selected_netdev(RdmadAllocations *table, const RdmadAllocation *allocation,
				   const RdmadDevice *dev)
{
	for (guint i = 0; dev && i < dev->n_ports; i++)
		if (dev->ports[i].netdev &&
		    rdmad_allocations_port_counts(table, allocation, dev, &dev->ports[i]))
			return dev->ports[i].netdev;
	return NULL;
}

/* Attachments that are being made or undone included: their NIC may be in use. */
static gboolean has_nics(const CniAttachment *attachment)
{
	return attachment->state != CNI_STATE_UNDONE &&
	       (attachment->state != CNI_STATE_PLANNED || attachment->steps);
}

typedef struct {
	const char *container_id, *device_id;
	gboolean found;
} NicSearch;

static void nic_search(CniAttachment *attachment, gpointer data)
{
	NicSearch *search = data;

	for (guint i = 0; has_nics(attachment) && i < attachment->nics->len; i++)
		search->found |= g_str_equal(attachment->container_id, search->container_id) &&
				 !g_strcmp0(((const CniNic *)attachment->nics->pdata[i])->device_id,
					    search->device_id);
}

/* Returns whether the device is in this pod already, as the NIC of an earlier network. */
static gboolean is_in_sandbox(Cni *cni, const CniRequest *request, const char *device_id)
{
	NicSearch search = { request->container_id, device_id, FALSE };

	if (rdmad_inventory_find_away(rdmad_module_inventory(cni->self), device_id))
		cni_journal_foreach(cni->journal, nic_search, &search);
	return search.found;
}

static void slots_add(GArray *slots, Cni *cni, const CniRequest *request,
		      const RdmadAllocation *allocation, const char **missing)
{
	RdmadInventory *inventory = rdmad_module_inventory(cni->self);
	RdmadAllocations *table = rdmad_module_allocations(cni->self);

	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadDevice *dev = rdmad_inventory_lookup(inventory, allocation->devices[i]);
		const CniSlot slot = { allocation->id,
				       allocation->resource,
				       allocation->slots[i],
				       dev,
				       cni_mode_parse(allocation->mode),
				       selected_netdev(table, allocation, dev) };

		if (!slot.device && is_in_sandbox(cni, request, allocation->devices[i]))
			continue;
		if (!slot.device)
			*missing = allocation->devices[i];
		else if (!slot_is_there(slots, allocation, allocation->slots[i]))
			g_array_append_val(slots, slot);
	}
}

GArray *cni_slots_of(Cni *cni, const CniRequest *request, gboolean *unsure, const char **missing)
{
	gboolean unnamed;
	g_autoptr(GPtrArray) held = allocations_of(cni, request, &unnamed);
	GArray *slots = g_array_new(FALSE, TRUE, sizeof(CniSlot));

	*missing = NULL;
	for (guint i = 0; i < held->len; i++)
		slots_add(slots, cni, request, held->pdata[i], missing);
	*unsure = request->pod_name && (unnamed || (!slots->len && !*missing));
	return slots;
}

static void uses_collect(CniAttachment *attachment, gpointer data)
{
	GArray *uses = data;

	if (!has_nics(attachment))
		return;
	for (guint i = 0; i < attachment->nics->len; i++) {
		const CniNic *nic = attachment->nics->pdata[i];
		const CniUse use = { attachment->container_id,
				     nic->ifname,
				     nic->device_id,
				     nic->slot_id,
				     nic->mode,
				     nic->addresses ? g_strv_length(nic->addresses) : 0 };

		g_array_append_val(uses, use);
	}
}

GPtrArray *cni_slots_choose(CniOperation *op, const GArray *slots, GError **error)
{
	RdmadInventory *inventory = rdmad_module_inventory(op->cni->self);
	g_autoptr(GArray) uses = g_array_new(FALSE, TRUE, sizeof(CniUse));
	CniChoiceInput input = { .settings = op->settings,
				 .request = op->request,
				 .slots = (const CniSlot *)(gpointer)slots->data,
				 .n_slots = slots->len };

	for (guint i = 0; i < rdmad_inventory_count(inventory); i++)
		g_ptr_array_add(op->devices,
				(gpointer)rdmad_device_ref(rdmad_inventory_nth(inventory, i)));
	cni_journal_foreach(op->cni->journal, uses_collect, uses);
	input.devices = (const RdmadDevice *const *)op->devices->pdata;
	input.n_devices = op->devices->len;
	input.uses = (const CniUse *)(gpointer)uses->data;
	input.n_uses = uses->len;
	return cni_choose(&input, op->entries, error);
}

CniGids cni_slots_gids(Cni *cni, const CniChoice *choice)
{
	g_autoptr(GArray) uses = g_array_new(FALSE, TRUE, sizeof(CniUse));

	cni_journal_foreach(cni->journal, uses_collect, uses);
	return cni_gids_count(choice->device, choice->netdev, (const CniUse *)(gpointer)uses->data,
			      uses->len);
}
