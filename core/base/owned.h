/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects with an owner
 *
 * Objects that a module creates in the core (a server, a channel) are listed here, so that
 * rdmad_loop_reap() can free the ones that the module left behind.  Embed RdmadOwned in the object.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	RdmadModule *owner;
	void (*reap)(gpointer object); /* frees the object without calling the module */
	gpointer object;
	GQueue *list;
	GList node;
} RdmadOwned;

void rdmad_owned_enter(RdmadOwned *owned, RdmadLoop *loop, RdmadModule *owner,
		       void (*reap)(gpointer object), gpointer object);
void rdmad_owned_leave(RdmadOwned *owned);

/* For the loop, which owns the list. */
guint rdmad_owned_count(const GQueue *list, const RdmadModule *owner);
guint rdmad_owned_reap(GQueue *list, const RdmadModule *owner);
