/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the loop that only the daemon and the tests see. */
#pragma once

#include <rdmad/loop.h>
#include <rdmad/stats.h>

/* NULL with errno: the kernel has refused. */
RdmadLoop *rdmad_loop_new(void);
/* Events that are left are freed; all of them must be the core's. */
void rdmad_loop_free(RdmadLoop *loop);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadLoop, rdmad_loop_free)

/* Runs until rdmad_loop_stop(). */
void rdmad_loop_run(RdmadLoop *loop);
void rdmad_loop_stop(RdmadLoop *loop);
/* One turn: waits for at least one event. */
void rdmad_loop_turn(RdmadLoop *loop);

/* Signals are the core's alone; one event for each.  They are blocked as long as it lives.  NULL with errno. */
RdmadEvent *rdmad_loop_add_signal(RdmadLoop *loop, int signum,
				  void (*fn)(int signum, gpointer data),
				  gpointer data) G_GNUC_WARN_UNUSED_RESULT;

/* From here on the loop counts its turns, and rdmad_loop_stat() gives families.  `stats` must outlive
 * the loop and all that is on it. */
void rdmad_loop_set_stats(RdmadLoop *loop, RdmadStats *stats);
/* The core's family of this class, made at first use; NULL, which counts nothing, in a loop without
 * stats.  So every object that has the loop can count its events. */
RdmadStat *rdmad_loop_stat(RdmadLoop *loop, const RdmadStatClass *klass);

/* Objects that have an owner (owned.h). */
GQueue *rdmad_loop_objects(RdmadLoop *loop);

/* Count, and free, the events and objects of a module; the number that was left is returned. */
guint rdmad_loop_owned(const RdmadLoop *loop, const RdmadModule *owner);
guint rdmad_loop_reap(RdmadLoop *loop, const RdmadModule *owner);
