/* SPDX-License-Identifier: Apache-2.0 */
#include "service/slot.h"

#include <string.h>

guint rdmad_slot_hash(gconstpointer slot)
{
	const RdmadSlot *t = slot;

	return g_str_hash(t->slot) * 31 + g_str_hash(t->resource);
}

gboolean rdmad_slot_equal(gconstpointer a, gconstpointer b)
{
	const RdmadSlot *x = a, *y = b;

	return !strcmp(x->slot, y->slot) && !strcmp(x->resource, y->resource);
}

RdmadSlot *rdmad_slot_dup(const RdmadSlot *slot)
{
	const gsize resource = strlen(slot->resource) + 1, id = strlen(slot->slot) + 1;
	RdmadSlot *copy = g_malloc(sizeof(*copy) + resource + id);
	char *text = (char *)(copy + 1);

	copy->resource = memcpy(text, slot->resource, resource);
	copy->slot = memcpy(text + resource, slot->slot, id);
	return copy;
}
