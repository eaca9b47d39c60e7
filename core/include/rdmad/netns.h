/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces: opened with suspicion, entered by threads of their own
 *
 * Sources: namespaces(7), ioctl_ns(2).  All of these may block: not on the loop.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

/* Identifies a namespace as long as the machine runs and the namespace exists; a later one may get
 * the same id. */
typedef struct {
	dev_t device;
	ino_t inode;
} RdmadNetnsId;

RDMAD_API gboolean rdmad_netns_id_equal(const RdmadNetnsId *a, const RdmadNetnsId *b);

/*
 * A descriptor of the namespace at `path`, /run/netns/NAME or /proc/PID/ns/net.  Nothing but a
 * network namespace is ever opened, so a path of a device or a FIFO does no harm.  `id` may be
 * NULL. RDMAD_ERROR_NOT_FOUND: no such path; RDMAD_ERROR_INVALID: no network namespace, or rdmad's
 * own.
 */
RDMAD_API int rdmad_netns_open(const char *path, RdmadNetnsId *id, GError **error);
/* The same of a descriptor that a client sent.  RDMAD_ERROR_INVALID as above. */
RDMAD_API gboolean rdmad_netns_check(int fd, RdmadNetnsId *id, GError **error);
/* The namespace that rdmad itself is in. */
RDMAD_API int rdmad_netns_open_own(RdmadNetnsId *id, GError **error);

/* Runs in the namespace; descriptors that it opens stay there.  FALSE with an error set is a failure. */
typedef gboolean (*RdmadNetnsFunc)(gpointer data, GError **error);

/*
 * Calls `fn` on a new thread that is inside the namespace `netns`, and waits for its end: for the
 * `run` of a job (work.h), whose own thread never leaves rdmad's namespace.  `fn` touches nothing
 * of the core.  RDMAD_ERROR_FAILED: the namespace could not be entered; otherwise the error of
 * `fn`.
 */
RDMAD_API gboolean rdmad_netns_call(int netns, RdmadNetnsFunc fn, gpointer data, GError **error);
