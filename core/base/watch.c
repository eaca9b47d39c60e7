/* SPDX-License-Identifier: Apache-2.0 */
#include "base/watch.h"

void rdmad_watch_list_init(RdmadWatchList *list)
{
	*list = (RdmadWatchList){ .watches = g_ptr_array_new_with_free_func(g_free) };
}

void rdmad_watch_list_clear(RdmadWatchList *list)
{
	while (list->watches->len)
		rdmad_watch_free(g_ptr_array_index(list->watches, list->watches->len - 1));
	g_clear_pointer(&list->watches, g_ptr_array_unref);
}

RdmadWatch *rdmad_watch_new(RdmadWatchList *list, RdmadModule *owner, gconstpointer ops,
			    gpointer data)
{
	RdmadWatch *watch = g_new0(RdmadWatch, 1);

	watch->list = list;
	watch->owner = owner;
	watch->ops = ops;
	watch->data = data;
	watch->fresh = TRUE;
	g_ptr_array_add(list->watches, watch);
	return watch;
}

static void watch_list_sweep(RdmadWatchList *list)
{
	for (guint i = list->watches->len; i-- > 0;) {
		const RdmadWatch *watch = g_ptr_array_index(list->watches, i);

		if (watch->dead)
			g_ptr_array_remove_index(list->watches, i);
	}
}

void rdmad_watch_free(RdmadWatch *watch)
{
	RdmadWatchList *list;

	if (!watch || watch->dead)
		return;
	list = watch->list;
	watch->dead = TRUE;
	if (list->freed)
		list->freed(watch, list->service);
	/* Inside a round the array must not move. */
	if (!list->busy)
		watch_list_sweep(list);
}

void rdmad_watch_list_foreach(RdmadWatchList *list, void (*fn)(RdmadWatch *watch, gpointer arg),
			      gpointer arg)
{
	const guint n = list->watches->len;

	list->busy++;
	for (guint i = 0; i < n; i++) {
		RdmadWatch *watch = g_ptr_array_index(list->watches, i);

		if (!watch->dead)
			fn(watch, arg);
	}
	if (--list->busy == 0)
		watch_list_sweep(list);
}

guint rdmad_watch_list_reap(RdmadWatchList *list, const RdmadModule *owner)
{
	guint n = 0;

	for (guint i = list->watches->len; i-- > 0;) {
		RdmadWatch *watch = g_ptr_array_index(list->watches, i);

		if (watch->dead || watch->owner != owner)
			continue;
		rdmad_watch_free(watch);
		n++;
	}
	return n;
}
