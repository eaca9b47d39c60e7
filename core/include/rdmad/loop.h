/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event loop
 *
 * One thread runs the loop.  Every callback runs on it and must not block (work.h).
 *
 * An event belongs to the module that added it (NULL: the core).  The loop never closes a
 * descriptor: free the event before closing, because epoll registers the file description
 * (epoll(7)).
 *
 * Do not add files of sysfs or procfs: kernfs always reports them as readable (fs/kernfs/file.c).
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

typedef enum { RDMAD_IO_READ = 1 << 0, RDMAD_IO_WRITE = 1 << 1 } RdmadIo;

typedef void (*RdmadIoFunc)(int fd, RdmadIo ready, gpointer data);
typedef void (*RdmadTimerFunc)(gpointer data);
/* `status` is that of waitpid(2), which has reaped the child; -1: another part of the process
 * has. */
typedef void (*RdmadChildFunc)(pid_t pid, int status, gpointer data);

/* Adds a level-triggered, persistent event: `fn` is called while the descriptor is ready and
 * wanted. RDMAD_ERROR_FAILED: epoll rejects the descriptor, or has no room. */
RDMAD_API RdmadEvent *rdmad_loop_add_io(RdmadLoop *loop, RdmadModule *owner, int fd, RdmadIo want,
					RdmadIoFunc fn, gpointer data,
					GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Changes what an io event waits for; 0, nothing, never fails.  FALSE with errno: epoll has failed,
 * and the event waits for nothing until the next call. */
RDMAD_API gboolean rdmad_event_want(RdmadEvent *ev, RdmadIo want);
/* Gives the event low priority, for requests of untrusted clients: it is served after all others,
 * one a turn of the loop.  Must not be called from the event's own callback. */
RDMAD_API void rdmad_event_set_low(RdmadEvent *ev);

/* Adds a disarmed timer.  It is one-shot, so that a slow callback cannot queue behind itself. */
RDMAD_API RdmadEvent *rdmad_loop_add_timer(RdmadLoop *loop, RdmadModule *owner, RdmadTimerFunc fn,
					   gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* Arms the timer, and replaces an earlier time.  0: for the next turn of the loop. */
RDMAD_API void rdmad_event_arm(RdmadEvent *ev, guint delay_ms);
/* Arms the timer unless it is armed for an earlier time. */
RDMAD_API void rdmad_event_arm_within(RdmadEvent *ev, guint delay_ms);
/* Arms the timer for the end of this turn, after all ready events: work that several of them cause
 * is done once.  It is armed until then. */
RDMAD_API void rdmad_event_arm_for_turn(RdmadEvent *ev);
RDMAD_API void rdmad_event_disarm(RdmadEvent *ev);
RDMAD_API gboolean rdmad_event_armed(const RdmadEvent *ev);

/* Calls `fn` once, when the child `pid` of this process has ended, after freeing the event.
 * RDMAD_ERROR_FAILED: no such child. */
RDMAD_API RdmadEvent *rdmad_loop_add_child(RdmadLoop *loop, RdmadModule *owner, pid_t pid,
					   RdmadChildFunc fn, gpointer data,
					   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* May be called from the event's own callback.  Does nothing if `ev` is NULL. */
RDMAD_API void rdmad_event_free(RdmadEvent *ev);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadEvent, rdmad_event_free)
