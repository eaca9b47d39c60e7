/* SPDX-License-Identifier: Apache-2.0 */
#include "base/owned.h"

#include "base/loop.h"

void rdmad_owned_enter(RdmadOwned *owned, RdmadLoop *loop, RdmadModule *owner,
		       void (*reap)(gpointer object), gpointer object)
{
	owned->owner = owner;
	owned->reap = reap;
	owned->object = object;
	owned->list = rdmad_loop_objects(loop);
	owned->node.data = owned;
	g_queue_push_tail_link(owned->list, &owned->node);
}

void rdmad_owned_leave(RdmadOwned *owned)
{
	g_queue_unlink(owned->list, &owned->node);
	owned->list = NULL;
}

guint rdmad_owned_count(const GQueue *list, const RdmadModule *owner)
{
	guint n = 0;

	for (const GList *l = list->head; l; l = l->next)
		n += ((const RdmadOwned *)l->data)->owner == owner;
	return n;
}

static RdmadOwned *owned_find(const GQueue *list, const RdmadModule *owner)
{
	for (const GList *l = list->head; l; l = l->next)
		if (((const RdmadOwned *)l->data)->owner == owner)
			return l->data;
	return NULL;
}

/* Searches from the start each time, because freeing one object may free others. */
guint rdmad_owned_reap(GQueue *list, const RdmadModule *owner)
{
	RdmadOwned *owned;
	guint n = 0;

	while ((owned = owned_find(list, owner))) {
		const guint before = list->length;

		owned->reap(owned->object);
		g_assert(list->length < before);
		n++;
	}
	return n;
}
