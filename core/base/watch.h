/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: how a service notifies its subscribers
 *
 * Every service has one list.  A watch may be freed from any callback, including its own.  A watch
 * that is added from a callback is not notified in the current round.
 *
 * A service with a notifier does not call its watches itself: it calls rdmad_watch_list_news(), and
 * on the next turn of the loop each watch is called for each item of news.  A new watch is called
 * for each existing item instead.  Changes made by a callback are news of the turn after.
 */
#pragma once

#include <rdmad/inventory.h> /* rdmad_watch_free() */
#include <rdmad/types.h>

struct RdmadWatch {
	struct RdmadWatchList *list;
	RdmadModule *owner;
	gconstpointer ops; /* the service's own type */
	gpointer data;
	gboolean fresh; /* was not yet called for the existing items */
	gboolean dead;
};

/* The callbacks of a service with a notifier. */
typedef struct {
	/* Return the news since the last call, and all existing items, as a new array of the
	 * service's item type, valid for the round.  NULL: nothing; the watch is not called, not
	 * even `settled`. */
	GArray *(*take_news)(gpointer service);
	GArray *(*list)(gpointer service);
	void (*notify)(RdmadWatch *watch, gconstpointer item, gpointer service);
	/* Called after the last item of a round; may be NULL. */
	void (*settled)(RdmadWatch *watch);
} RdmadNotifierClass;

typedef struct RdmadWatchList {
	GPtrArray *watches;
	guint busy;					    /* depth of running iterations */
	void (*freed)(RdmadWatch *watch, gpointer service); /* may be NULL */
	gpointer service;
	const RdmadNotifierClass *notifier; /* NULL: the service calls its watches directly */
	RdmadEvent *round;
} RdmadWatchList;

void rdmad_watch_list_init(RdmadWatchList *list);
/* Initializes a list with a notifier, whose callbacks get `service`. */
void rdmad_watch_list_init_notifier(RdmadWatchList *list, RdmadLoop *loop,
				    const RdmadNotifierClass *notifier, gpointer service);
/* Frees the remaining watches. */
void rdmad_watch_list_clear(RdmadWatchList *list);

/* Schedules a round for the next turn, because there may be news. */
void rdmad_watch_list_news(RdmadWatchList *list);

RdmadWatch *rdmad_watch_new(RdmadWatchList *list, RdmadModule *owner, gconstpointer ops,
			    gpointer data);
void rdmad_watch_list_foreach(RdmadWatchList *list, void (*fn)(RdmadWatch *watch, gpointer arg),
			      gpointer arg);
guint rdmad_watch_list_reap(RdmadWatchList *list, const RdmadModule *owner);
