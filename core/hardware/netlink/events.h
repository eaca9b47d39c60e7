/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel events: RDMA notifications, links and addresses, uevents.  They are hints for another
 * scan, so a lost one costs nothing; of their contents no more matters than what is to be read again.
 */
#pragma once

#include <glib.h>
#include <rdmad/network.h>

typedef struct RdmadKernelEvents RdmadKernelEvents;

typedef struct {
	const char *name; /* for messages */
	int protocol;
	guint groups[8];				      /* 0 ends them */
	gboolean (*matters)(const char *message, gsize size); /* NULL: all do */
} RdmadEventSource;

typedef struct {
	/* Once for each batch with a message that no other function was called for. */
	void (*hint)(gpointer data);
	/* An interface has changed, or its addresses, and then `link` is NULL. */
	void (*interface)(int ifindex, const RdmadLink *link, gpointer data);
} RdmadKernelEventOps;

/* Called from the loop; `ops` must outlive it.  A source that cannot be opened is logged and left out;
 * NULL only when none could. */
RdmadKernelEvents *rdmad_kernel_events_new(RdmadLoop *loop, const RdmadKernelEventOps *ops,
					   gpointer data, GError **error);
/* From other sources, which must outlive it, and all of it hints. */
RdmadKernelEvents *rdmad_kernel_events_open(RdmadLoop *loop, RdmadModule *owner,
					    const RdmadEventSource *sources, guint n_sources,
					    void (*hint)(gpointer data), gpointer data,
					    GError **error);
void rdmad_kernel_events_free(RdmadKernelEvents *events);

/* Whether it is about RDMA devices, interfaces or what carries them: a laptop's battery is not. */
gboolean rdmad_uevent_matters(const char *message, gsize size);
