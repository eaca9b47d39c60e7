/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the loop for the core and the tests */
#pragma once

#include <rdmad/loop.h>
#include <rdmad/stats.h>

/* Returns NULL with errno if the kernel refused. */
RdmadLoop *rdmad_loop_new(void);
/* Frees the remaining events, which must belong to the core. */
void rdmad_loop_free(RdmadLoop *loop);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadLoop, rdmad_loop_free)

/* Runs until rdmad_loop_stop(). */
void rdmad_loop_run(RdmadLoop *loop);
void rdmad_loop_stop(RdmadLoop *loop);
/* Runs one turn, which waits for at least one event. */
void rdmad_loop_turn(RdmadLoop *loop);

/* Only the core handles signals, with at most one event for each.  The signal is blocked while
 * the event exists.  Returns NULL with errno on failure. */
RdmadEvent *rdmad_loop_add_signal(RdmadLoop *loop, int signum,
				  void (*fn)(int signum, gpointer data),
				  gpointer data) G_GNUC_WARN_UNUSED_RESULT;

/* Enables the loop's stats and rdmad_loop_stat().  `stats` must outlive the loop and its
 * objects. */
void rdmad_loop_set_stats(RdmadLoop *loop, RdmadStats *stats);
/* Returns the core's family of this class, created at first use, so that every object on the
 * loop can count its events.  Returns NULL, which counts nothing, for a loop without stats. */
RdmadStat *rdmad_loop_stat(RdmadLoop *loop, const RdmadStatClass *klass);

/* The list of objects with an owner (owned.h). */
GQueue *rdmad_loop_objects(RdmadLoop *loop);

/* Count, or count and free, the events and objects of a module. */
guint rdmad_loop_owned(const RdmadLoop *loop, const RdmadModule *owner);
guint rdmad_loop_reap(RdmadLoop *loop, const RdmadModule *owner);
