/* SPDX-License-Identifier: Apache-2.0 */
#include "base/watch.h"

#include <rdmad/loop.h>

void rdmad_watch_list_init(RdmadWatchList *list)
{
	*list = (RdmadWatchList){ .watches = g_ptr_array_new_with_free_func(g_free) };
}

void rdmad_watch_list_clear(RdmadWatchList *list)
{
	while (list->watches->len)
		rdmad_watch_free(g_ptr_array_index(list->watches, list->watches->len - 1));
	g_clear_pointer(&list->watches, g_ptr_array_unref);
	g_clear_pointer(&list->round, rdmad_event_free);
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
	if (list->notifier)
		rdmad_watch_list_news(list);
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
	/* The array must not change during a round. */
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

/* ---- the notifier ---- */

typedef struct {
	const RdmadNotifierClass *notifier;
	gpointer service;
	GArray *news, *all;
} Round;

static void count_fresh(RdmadWatch *watch, gpointer n)
{
	*(guint *)n += watch->fresh;
}

static void round_notify(RdmadWatch *watch, gpointer arg)
{
	const Round *round = arg;
	const GArray *items = watch->fresh ? round->all : round->news;

	if (!items)
		return;
	watch->fresh = FALSE;
	for (guint i = 0; i < items->len && !watch->dead; i++)
		round->notifier->notify(
			watch, items->data + (gsize)i * g_array_get_element_size((GArray *)items),
			round->service);
	if (round->notifier->settled && !watch->dead)
		round->notifier->settled(watch);
}

static void watch_list_round(gpointer data)
{
	RdmadWatchList *list = data;
	Round round = { .notifier = list->notifier, .service = list->service };
	guint n_fresh = 0;

	round.news = round.notifier->take_news(round.service);
	rdmad_watch_list_foreach(list, count_fresh, &n_fresh);
	if (n_fresh)
		round.all = round.notifier->list(round.service);
	rdmad_watch_list_foreach(list, round_notify, &round);
	g_clear_pointer(&round.news, g_array_unref);
	g_clear_pointer(&round.all, g_array_unref);
}

void rdmad_watch_list_init_notifier(RdmadWatchList *list, RdmadLoop *loop,
				    const RdmadNotifierClass *notifier, gpointer service)
{
	rdmad_watch_list_init(list);
	list->notifier = notifier;
	list->service = service;
	list->round = rdmad_loop_add_timer(loop, NULL, watch_list_round, list);
}

void rdmad_watch_list_news(RdmadWatchList *list)
{
	rdmad_event_arm(list->round, 0);
}
