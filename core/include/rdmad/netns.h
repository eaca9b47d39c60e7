/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces: verified when they are opened, and entered by separate threads
 *
 * Functions that open or enter a namespace may block: for workers.
 *
 * Sources: namespaces(7), ioctl_ns(2).
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* Identifies a namespace while it exists; a later namespace may have the same id. */
typedef struct {
	dev_t device;
	ino_t inode;
} RdmadNetnsId;

RDMAD_API gboolean rdmad_netns_id_equal(const RdmadNetnsId *a, const RdmadNetnsId *b);

/*
 * Returns a descriptor of the namespace at `path`, /run/netns/NAME or /proc/PID/ns/net, or -1.
 * Files other than namespaces are never opened, so the path of a device or FIFO does no harm.  `id`
 * may be NULL.  RDMAD_ERROR_NOT_FOUND: no such path; RDMAD_ERROR_INVALID: not a network namespace,
 * or rdmad's own.
 */
RDMAD_API int rdmad_netns_open(const char *path, RdmadNetnsId *id, GError **error);
/* Returns whether an error of rdmad_netns_open() or rdmad_netns_check() is evidence that the
 * namespace has ended.  A namespace that rdmad may not open, or an error that may pass, is not. */
RDMAD_API gboolean rdmad_netns_is_gone(const GError *error);
/* Verifies a descriptor that a client sent.  RDMAD_ERROR_INVALID: not a network namespace, or
 * rdmad's own. */
RDMAD_API gboolean rdmad_netns_check(int fd, RdmadNetnsId *id, GError **error);
/* Returns a descriptor of the namespace of the calling thread, or -1. */
RDMAD_API int rdmad_netns_open_own(RdmadNetnsId *id, GError **error);

/* Runs in the namespace, to which sockets that it opens belong.  Sets an error if it returns
 * FALSE. */
typedef gboolean (*RdmadNetnsFunc)(gpointer data, GError **error);

/*
 * Calls `fn` on a new thread in the namespace `netns`, and waits for its end.  For the `run` of a
 * job (work.h), whose own thread never leaves rdmad's namespace.  `fn` must not use the core.
 * RDMAD_ERROR_FAILED: no thread, or the namespace could not be entered; else the error of `fn`.
 */
RDMAD_API gboolean rdmad_netns_call(int netns, RdmadNetnsFunc fn, gpointer data, GError **error);
