/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel events: RDMA notifications, links and addresses, uevents.  They only trigger scans, so a
 * lost event does no harm, and their content only determines what is scanned.
 */
#pragma once

#include <glib.h>

#include "hardware/netlink/route.h"

typedef struct RdmadKernelEvents RdmadKernelEvents;

typedef struct {
	const char *name; /* for messages */
	int protocol;
	guint groups[8];				      /* terminated by 0 */
	gboolean (*matters)(const char *message, gsize size); /* NULL: all messages matter */
} RdmadEventSource;

typedef struct {
	/* Called once for each batch of messages that are not all reported by `interface`. */
	void (*hint)(gpointer data);
	void (*interface)(const RdmadRouteEvent *event, gpointer data);
} RdmadKernelEventOps;

/* The callbacks run on the loop; `ops` must outlive the object.  A source that cannot be opened
 * is logged and skipped.  Returns NULL only if no source could be opened. */
RdmadKernelEvents *rdmad_kernel_events_new(RdmadLoop *loop, const RdmadKernelEventOps *ops,
					   gpointer data, GError **error);
/* Opens other sources, which must outlive the object.  All their messages are hints. */
RdmadKernelEvents *rdmad_kernel_events_open(RdmadLoop *loop, RdmadModule *owner,
					    const RdmadEventSource *sources, guint n_sources,
					    void (*hint)(gpointer data), gpointer data,
					    GError **error);
void rdmad_kernel_events_free(RdmadKernelEvents *events);

/* Returns whether an uevent is about RDMA devices, interfaces, or the devices and modules below
 * them.  Only rtnetlink reports virtual interfaces: it names their kind. */
gboolean rdmad_uevent_matters(const char *message, gsize size);
