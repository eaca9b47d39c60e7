/* SPDX-License-Identifier: Apache-2.0 */
#include "service/inventory-diff.h"

#include "hardware/device.h"

static void change_add(GArray *changes, const RdmadDevice *before, const RdmadDevice *now)
{
	const RdmadInventoryChange change = { before, now };

	if (!before || !now || !rdmad_device_equal(before, now))
		g_array_append_val(changes, change);
}

/* Negative: the next device of `before` is not in `now`; positive: the other way round. */
static int next_compare(const GPtrArray *before, guint b, const GPtrArray *now, guint n)
{
	const RdmadDevice *old, *new;

	if (b == before->len || n == now->len)
		return b == before->len ? 1 : -1;
	old = g_ptr_array_index(before, b);
	new = g_ptr_array_index(now, n);
	return rdmad_natural_compare(old->id, new->id);
}

GArray *rdmad_inventory_diff(const GPtrArray *before, const GPtrArray *now)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(RdmadInventoryChange));
	g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(RdmadInventoryChange));
	guint b = 0, n = 0;

	while (b < before->len || n < now->len) {
		const int order = next_compare(before, b, now, n);

		if (order < 0)
			change_add(changes, g_ptr_array_index(before, b++), NULL);
		else if (order > 0)
			change_add(others, NULL, g_ptr_array_index(now, n++));
		else
			change_add(others, g_ptr_array_index(before, b++),
				   g_ptr_array_index(now, n++));
	}
	if (others->len)
		g_array_append_vals(changes, others->data, others->len);
	return changes;
}
