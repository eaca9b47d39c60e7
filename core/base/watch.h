/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: how a service notifies the modules that asked
 *
 * Every service has one list.  A watch may be freed from any callback, its own too; one that is
 * added from a callback is not notified in the round under way.
 *
 * A service that has a notifier need not call its watches itself: it reports that there is news, and on
 * the next turn of the loop each watch is called for each piece of it.  A new watch gets instead
 * what there is.  Changes that a callback makes are news for the turn after.
 */
#pragma once

#include <rdmad/inventory.h> /* rdmad_watch_free() */
#include <rdmad/types.h>

struct RdmadWatch {
	struct RdmadWatchList *list;
	RdmadModule *owner;
	gconstpointer ops; /* the service's own type */
	gpointer data;
	gboolean fresh; /* was not yet notified of what there is */
	gboolean dead;
};

/* How the list of a service notifies. */
typedef struct {
	/* The news since the last call, and all there is, in items of the service's own type; each as a
	 * new array that lasts for the round.  NULL: nothing, and that watch is not notified at all. */
	GArray *(*take_news)(gpointer service);
	GArray *(*list)(gpointer service);
	void (*notify)(RdmadWatch *watch, gconstpointer item, gpointer service);
	/* After the last item of a round; may be NULL. */
	void (*settled)(RdmadWatch *watch);
} RdmadNotifierClass;

typedef struct RdmadWatchList {
	GPtrArray *watches;
	guint busy;					    /* rounds under way */
	void (*freed)(RdmadWatch *watch, gpointer service); /* may be NULL */
	gpointer service;
	const RdmadNotifierClass *notifier; /* NULL: the service calls its watches itself */
	RdmadEvent *round;
} RdmadWatchList;

void rdmad_watch_list_init(RdmadWatchList *list);
/* With a notifier, which calls with `service`. */
void rdmad_watch_list_init_notifier(RdmadWatchList *list, RdmadLoop *loop,
				    const RdmadNotifierClass *notifier, gpointer service);
/* Frees what is left. */
void rdmad_watch_list_clear(RdmadWatchList *list);

/* There may be news: has the notifier ask on the next turn. */
void rdmad_watch_list_news(RdmadWatchList *list);

RdmadWatch *rdmad_watch_new(RdmadWatchList *list, RdmadModule *owner, gconstpointer ops,
			    gpointer data);
void rdmad_watch_list_foreach(RdmadWatchList *list, void (*fn)(RdmadWatch *watch, gpointer arg),
			      gpointer arg);
guint rdmad_watch_list_reap(RdmadWatchList *list, const RdmadModule *owner);
