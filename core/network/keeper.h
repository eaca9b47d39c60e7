/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeper: a small process with the capabilities to start executors (executor.h) and host commands
 * (host-command.h)
 *
 * The daemon starts the keeper before it drops its own capabilities, so that a dead executor can be
 * replaced.  Its commands:
 *
 *	E LOCK		start an executor that serves the attached descriptor
 *	C COMMAND	append a host command to the list
 *	L		close the list
 *	R NUMBER	start a process that runs this host command and replies on the attached
 *			descriptor
 */
#pragma once

#include "base/seccomp.h"

#define RDMAD_KEEPER_OPTION "--executor"

/* `capabilities` limits the capabilities of the keeper and its executors to this mask.
 * `seccomp` applies to the executors and, once the list is closed without a host command, to the
 * keeper.  Host commands run foreign programs and have no filter. */
RdmadKeeper *rdmad_keeper_new(guint64 capabilities, RdmadSeccomp seccomp, GError **error);
/* Kills the keeper, and waits for its end.  Its executors end with it. */
void rdmad_keeper_free(RdmadKeeper *keeper);
/* Returns a descriptor that becomes readable when the keeper ends. */
int rdmad_keeper_fd(const RdmadKeeper *keeper);
/* Starts an executor that serves `socket`; the caller keeps `socket`. */
gboolean rdmad_keeper_start(const RdmadKeeper *keeper, int socket, const char *lock,
			    GError **error);

/* Returns the number of a host command, the same for the same text; host-command.c defines the
 * format of `text`.  Returns 0 after an error: RDMAD_ERROR_CONFIG if the list is closed without the
 * command, RDMAD_ERROR_LIMIT, or an error of rdmad_message_send(). */
guint rdmad_keeper_declare(RdmadKeeper *keeper, const char *text, GError **error);
/* Closes the list.  Call after the modules have started.  `keeper` may be NULL. */
gboolean rdmad_keeper_close_list(RdmadKeeper *keeper, GError **error);
/* Starts a process that runs command `number` and replies on `socket`; the caller keeps
 * `socket`. */
gboolean rdmad_keeper_run(const RdmadKeeper *keeper, int socket, guint number, GError **error);

/* The main function of the keeper process: `argv[2]` is its socket, `argv[3]` the mask in
 * hexadecimal digits, `argv[4]` the number of an RdmadSeccomp.  Returns the exit status. */
int rdmad_keeper_main(int argc, char **argv);

/* Takes the lock in a process forked by the keeper: waits until the previous holder has ended, and
 * holds the lock until this process ends. */
gboolean rdmad_keeper_take_turn(const char *lock, GError **error);
/* The main functions of the keeper's children (executor.c, host-command.c).  They return only if
 * they cannot start. */
int rdmad_executor_serve(int socket, const char *lock);
void rdmad_host_serve(int socket, const char *command);
