/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeper: a small process that starts executors (executor.h) and host commands (host-command.h), and holds
 * the capabilities to do so
 *
 * Started by the daemon before that gives up its own, so that an executor that died can be followed by
 * another.  What it may be told:
 *
 *	E LOCK		an executor that serves the descriptor that comes along
 *	C COMMAND	one more host command, before the list is closed
 *	L		the list is closed
 *	R NUMBER	a process that does this command, and answers at the descriptor that comes along
 */
#pragma once

#include "base/seccomp.h"

#define RDMAD_KEEPER_OPTION "--executor"

/* `capabilities`: the mask that it and the executors have, as far as the caller has them.  `seccomp` is theirs,
 * but not of host commands, which run programs of others, nor of a keeper that has such commands. */
RdmadKeeper *rdmad_keeper_new(guint64 capabilities, RdmadSeccomp seccomp, GError **error);
/* Ends it and its executors. */
void rdmad_keeper_free(RdmadKeeper *keeper);
/* Readable when the keeper has ended. */
int rdmad_keeper_fd(const RdmadKeeper *keeper);
/* Starts an executor that serves `socket`, which stays the caller's. */
gboolean rdmad_keeper_start(const RdmadKeeper *keeper, int socket, const char *lock,
			    GError **error);

/* The number of a host command; `text` is that of host-command.c.  0: RDMAD_ERROR_CONFIG: the list is closed and
 * does not have it; RDMAD_ERROR_LIMIT. */
guint rdmad_keeper_declare(RdmadKeeper *keeper, const char *text, GError **error);
/* When the modules have started.  NULL is fine. */
gboolean rdmad_keeper_close_list(RdmadKeeper *keeper, GError **error);
/* Starts a process for command `number`, which answers at `socket`, which stays the caller's. */
gboolean rdmad_keeper_run(const RdmadKeeper *keeper, int socket, guint number, GError **error);

/* The process itself, from main(): `argv[2]` is its socket, `argv[3]` the mask, `argv[4]` the number of
 * an RdmadSeccomp; the exit status. */
int rdmad_keeper_main(int argc, char **argv);

/* For a process that the keeper has forked: waits for the end of the process before it that had the lock, and has it until it
 * ends itself. */
gboolean rdmad_keeper_take_turn(const char *lock, GError **error);
/* The mains of the processes that the keeper forks, of executor.c and host-command.c: they return where they could not
 * begin. */
int rdmad_executor_serve(int socket, const char *lock);
void rdmad_host_serve(int socket, const char *command);
