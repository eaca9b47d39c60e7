/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeper: a small process that starts executors (executor.h), and holds the capabilities to do so
 *
 * Started by the daemon before that gives up its own, so that an executor that died can be followed by
 * another.  It gets the descriptor that an executor is to serve, and nothing else.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_KEEPER_OPTION "--executor"

/* `capabilities`: the mask that it and the executors have, as far as the caller has them. */
RdmadKeeper *rdmad_keeper_new(guint64 capabilities, GError **error);
/* Ends it and its executors. */
void rdmad_keeper_free(RdmadKeeper *keeper);
/* Readable when the keeper has ended. */
int rdmad_keeper_fd(const RdmadKeeper *keeper);
/* Starts an executor that serves `socket`, which stays the caller's. */
gboolean rdmad_keeper_start(const RdmadKeeper *keeper, int socket, const char *lock,
			    GError **error);

/* The process itself, from main(): `argv[2]` is its socket, `argv[3]` the mask; the exit status. */
int rdmad_keeper_main(int argc, char **argv);

/* Of executor.c: what the keeper has forked. */
int rdmad_executor_serve(int socket, const char *lock);
