/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel events: RDMA notifications, links and addresses, uevents.  They are hints for another
 * scan; their contents do not matter, so a lost one costs nothing.
 */
#pragma once

#include <glib.h>
#include <rdmad/types.h>

typedef struct RdmadKernelEvents RdmadKernelEvents;

typedef struct {
	const char *name; /* for messages */
	int protocol;
	guint groups[8];				      /* 0 ends them */
	gboolean (*matters)(const char *message, gsize size); /* NULL: all do */
} RdmadEventSource;

/* `hint` comes from the loop, once for each batch that was read.  A source that cannot be opened is
 * logged and left out; NULL only when none could. */
RdmadKernelEvents *rdmad_kernel_events_new(RdmadLoop *loop, void (*hint)(gpointer data),
					   gpointer data, GError **error);
/* The same from other sources, which must outlive it. */
RdmadKernelEvents *rdmad_kernel_events_open(RdmadLoop *loop, RdmadModule *owner,
					    const RdmadEventSource *sources, guint n_sources,
					    void (*hint)(gpointer data), gpointer data,
					    GError **error);
void rdmad_kernel_events_free(RdmadKernelEvents *events);

/* Whether it is about RDMA devices, interfaces or what carries them: a laptop's battery is not. */
gboolean rdmad_uevent_matters(const char *message, gsize size);
