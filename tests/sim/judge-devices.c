/* SPDX-License-Identifier: Apache-2.0 */
/* An exclusive device is held by one live pod, whatever the resource is called. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "judge.h"
#include "kubelet.h"
#include "life.h"
#include "machine.h"
#include "node.h"

#define FIRST_SLOT 0x08u /* of the machine's devices on its PCI bus */

static GHashTable
	*exclusive; /* set of the IDs of allocations that were exclusive when they were given */

void judge_devices_begin(void)
{
	exclusive = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

void judge_devices_end(void)
{
	g_hash_table_unref(exclusive);
}

/* Returns a bit for the device of a slot, "0000:00:08.0::1", or of a stable id. */
static guint device_of(const char *slot)
{
	guint number;

	g_assert_cmpint(sscanf(slot, "0000:00:%2x.0", &number), ==, 1);
	g_assert_cmpuint(number - FIRST_SLOT, <, MACHINE_DEVICES);
	return 1u << (number - FIRST_SLOT);
}

static guint devices_of(char *const *slots)
{
	guint devices = 0;

	for (guint i = 0; slots[i]; i++)
		devices |= device_of(slots[i]);
	return devices;
}

static void pair_check(const Pod *pod, const Grant *grant, const Pod *other, const Grant *held)
{
	if ((devices_of(grant->slots) & devices_of(held->slots)) &&
	    (g_hash_table_contains(exclusive, grant->id) ||
	     g_hash_table_contains(exclusive, held->id)))
		judge_fails("an exclusive device is given twice: to %s as %s, and %s has it as %s",
			    pod->name, pod->resource, other->name, other->resource);
}

/* rdmad may have ended since.  A shared slot has a number. */
static gboolean is_exclusive(const Grant *grant)
{
	const RdmadAllocation *allocation =
		life_allocations() ? rdmad_allocations_lookup(life_allocations(), grant->id) : NULL;

	return allocation ? g_strcmp0(allocation->mode, "exclusive") == 0
			  : !strstr(grant->slots[0], "::");
}

void judge_devices_answered(const Pod *pod, const Grant *grant)
{
	const GPtrArray *pods = pods_all();

	if (is_exclusive(grant))
		g_hash_table_add(exclusive, g_strdup(grant->id));
	for (guint i = 0; i < pods->len; i++) {
		const Pod *other = pods->pdata[i];

		if (other != pod && other->has_process && other->had)
			pair_check(pod, grant, other, other->had);
	}
}

/* An allocation that has the device under another slot, and that no List has named, ends when Lists
 * have lacked it for some time, which judge_quiet() requires.  Until then nobody knows that its pod
 * has ended. */
static gboolean holder_is_unnamed(const char *text)
{
	return strstr(text, "is held by a pod that kubelet has not named") &&
	       !strstr(text, "which kubelet has forgotten");
}

/* `text` has the slot or the device in quotes. */
gboolean judge_devices_have_holder(const Pod *pod, const char *text)
{
	const guint device = device_of(strchr(text, '"') + 1);
	const GPtrArray *pods = pods_all();

	if (holder_is_unnamed(text))
		return TRUE;
	for (guint i = 0; i < pods->len; i++) {
		const Pod *other = pods->pdata[i];
		const Grant *grants[POD_GRANTS_MAX];

		for (guint n = other == pod ? 0 : pod_grants(other, grants); n-- > 0;)
			if (devices_of(grants[n]->slots) & device)
				return TRUE;
	}
	return FALSE;
}

/* ---- the list for kubelet ---- */

/* The holders of a device, as the resource with these slots has to regard them. */
typedef struct {
	const NodeResource *resource;
	guint device;
	GHashTable *slots;     /* set of the resource's own slots on the device that are held */
	gboolean is_exclusive; /* one of the holders is */
	guint others;	       /* number of holders of other slots */
} Held;

static void held_add(const RdmadAllocation *allocation, gpointer data)
{
	Held *held = data;
	const gboolean is_own = g_str_equal(allocation->resource, held->resource->name);

	if (!(devices_of(allocation->slots) & held->device))
		return;
	held->is_exclusive |= g_strcmp0(allocation->mode, "exclusive") == 0;
	held->others += !is_own;
	for (guint i = 0; is_own && allocation->slots[i]; i++)
		if (device_of(allocation->slots[i]) == held->device)
			g_hash_table_add(held->slots, allocation->slots[i]);
}

/* An exclusive resource that was shared lists the slots that are held, and none of its own. */
static void device_expect(const NodeResource *resource, guint index, ListCounts *counts)
{
	const guint device = 1u << index;
	g_autoptr(GHashTable) slots = g_hash_table_new(g_str_hash, g_str_equal);
	Held held = { resource, device, slots };
	guint own, listed;
	gboolean is_excluded;

	rdmad_allocations_foreach(life_allocations(), held_add, &held);
	own = g_hash_table_size(slots);
	if (!(resource->devices & device)) {
		counts->slots += own;
		return;
	}
	listed = MAX(own, node_slots_per_device(resource));
	is_excluded = held.is_exclusive || (resource->is_exclusive && held.others);
	counts->slots += listed;
	counts->healthy += is_excluded ? own : listed;
	if (!is_excluded && !machine_shows_netdev(index))
		counts->returning += listed - own;
}

ListCounts judge_devices_expect(const NodeResource *resource)
{
	ListCounts counts = { 0 };

	for (guint i = 0; i < MACHINE_DEVICES; i++)
		device_expect(resource, i, &counts);
	return counts;
}
