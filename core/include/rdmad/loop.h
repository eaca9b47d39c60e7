/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event loop
 *
 * One thread, one loop; every callback runs on it and must not block (see work.h).
 *
 * An event belongs to the module that added it (NULL: the core).  rdmad_event_free() takes NULL and
 * may be called from the event's own callback.  The loop never closes a descriptor: free the event
 * first, then close, because epoll keys on the file description.
 *
 * No sysfs or procfs file goes on the loop: kernfs reports "readable" for ever.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

typedef enum { RDMAD_IO_READ = 1 << 0, RDMAD_IO_WRITE = 1 << 1 } RdmadIo;

typedef void (*RdmadIoFunc)(int fd, RdmadIo ready, gpointer data);
typedef void (*RdmadTimerFunc)(gpointer data);
/* `status` is as waitpid() gives it; the child is reaped.  -1: another part of the process has
 * reaped it. */
typedef void (*RdmadChildFunc)(pid_t pid, int status, gpointer data);

/* Level-triggered and persistent: fires until the descriptor is no longer ready or wanted.
 * RDMAD_ERROR_FAILED: epoll does not take the descriptor, or has no room. */
RDMAD_API RdmadEvent *rdmad_loop_add_io(RdmadLoop *loop, RdmadModule *owner, int fd, RdmadIo want,
					RdmadIoFunc fn, gpointer data,
					GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Changes what an io event waits for; 0: nothing for now, which never fails.  FALSE with errno:
 * epoll has refused, and the event waits for nothing until the next call. */
RDMAD_API gboolean rdmad_event_want(RdmadEvent *ev, RdmadIo want);
/* Served after all others, one a turn of the loop: for requests of untrusted clients.  Not from the
 * event's own callback. */
RDMAD_API void rdmad_event_set_low(RdmadEvent *ev);

/* Made disarmed; one-shot, so that a slow callback cannot queue behind itself. */
RDMAD_API RdmadEvent *rdmad_loop_add_timer(RdmadLoop *loop, RdmadModule *owner, RdmadTimerFunc fn,
					   gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* Arming again replaces the time.  0 means: on the next turn of the loop. */
RDMAD_API void rdmad_event_arm(RdmadEvent *ev, guint delay_ms);
/* The same, but an earlier time stays. */
RDMAD_API void rdmad_event_arm_within(RdmadEvent *ev, guint delay_ms);
/* Fires at the end of this turn, after all events that are ready: what each of them leaves to be done is
 * done once for all.  Until it has fired it is armed. */
RDMAD_API void rdmad_event_arm_for_turn(RdmadEvent *ev);
RDMAD_API void rdmad_event_disarm(RdmadEvent *ev);
RDMAD_API gboolean rdmad_event_armed(const RdmadEvent *ev);

/* Fires once, when `pid` (a child of this process) has ended.  NULL when there is no such child. */
RDMAD_API RdmadEvent *rdmad_loop_add_child(RdmadLoop *loop, RdmadModule *owner, pid_t pid,
					   RdmadChildFunc fn, gpointer data,
					   GError **error) G_GNUC_WARN_UNUSED_RESULT;

RDMAD_API void rdmad_event_free(RdmadEvent *ev);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadEvent, rdmad_event_free)
