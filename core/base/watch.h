/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: how a service tells those who asked
 *
 * Every service has one list.  A watch may be freed from any callback, its own too; one that is
 * added from a callback is not told in the round under way.
 */
#pragma once

#include <rdmad/inventory.h> /* rdmad_watch_free() */
#include <rdmad/types.h>

struct RdmadWatch {
	struct RdmadWatchList *list;
	RdmadModule *owner;
	gconstpointer ops; /* the service's own type */
	gpointer data;
	gboolean fresh; /* was not yet told what is there; the service clears it */
	gboolean dead;
};

typedef struct RdmadWatchList {
	GPtrArray *watches;
	guint busy;					    /* rounds under way */
	void (*freed)(RdmadWatch *watch, gpointer service); /* may be NULL */
	gpointer service;
} RdmadWatchList;

void rdmad_watch_list_init(RdmadWatchList *list);
/* Frees what is left. */
void rdmad_watch_list_clear(RdmadWatchList *list);

RdmadWatch *rdmad_watch_new(RdmadWatchList *list, RdmadModule *owner, gconstpointer ops,
			    gpointer data);
void rdmad_watch_list_foreach(RdmadWatchList *list, void (*fn)(RdmadWatch *watch, gpointer arg),
			      gpointer arg);
guint rdmad_watch_list_reap(RdmadWatchList *list, const RdmadModule *owner);
