/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program: one of the host's, run for the driver
 *
 * It runs in the mount namespace of PID 1, with the files of the node.  What it prints is kept for
 * people and never read for anything else.
 */
#pragma once

#include <rdmad/types.h>

#define ERDMA_PROGRAM_TAIL 4096u /* bytes that are kept of what it printed */

typedef struct ErdmaProgram ErdmaProgram;

typedef struct {
	const char *const *argv;
	const char *const *environment; /* beside PATH and HOME; may be NULL */
	GBytes *input;			/* may be NULL */
	const char *cgroup;		/* of its own; may be NULL */
	guint64 timeout_ms;
} ErdmaProgramSpec;

/* `error` NULL: its exit status was 0.  RDMAD_ERROR_NOT_FOUND: there is no such program;
 * RDMAD_ERROR_TIMEOUT; RDMAD_ERROR_FAILED.  `tail`: its last lines, printable UTF-8; may be "". */
typedef void (*ErdmaProgramDone)(const char *tail, const GError *error, gpointer data);

/* The handle is valid until `done` was called or erdma_program_cancel(). */
ErdmaProgram *erdma_program_start(RdmadModule *self, const ErdmaProgramSpec *spec,
				  ErdmaProgramDone done, gpointer data, GError **error);
/* Kills it; `done` is not called.  NULL is fine. */
void erdma_program_cancel(ErdmaProgram *program);
