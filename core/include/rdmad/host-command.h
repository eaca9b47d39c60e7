/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host commands: programs of the node, and kernel modules, run with capabilities that the daemon
 * has given up
 *
 * A module declares each command as a whole while it starts.  Then the list, which RdmadKeeper has,
 * is closed, and a request is the number of a command.  An attacker who takes over the daemon can
 * run only what the configuration names.  Each command runs in its own process, and a program as
 * its supervised child (child.h).
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_HOST_TAIL	   4096u	       /* last bytes kept of a program's output */
#define RDMAD_HOST_PACKAGE (64u * 1024 * 1024) /* bytes of the largest package */

typedef enum {
	RDMAD_HOST_PROGRAM, /* in the mount namespace of PID 1, with the files of the node */
	RDMAD_HOST_INSERT,  /* finit_module(2), first for the modules that it needs */
	RDMAD_HOST_REMOVE,  /* delete_module(2) */
} RdmadHostKind;

/* All texts are UTF-8. */
typedef struct {
	RdmadHostKind kind;
	/* PROGRAM only: argv[0] is an absolute path of the node. */
	const char *const *argv;
	const char *const *environment; /* "NAME=value", in addition to PATH and HOME; NULL: none */
	const char *package;		/* file of the node for the standard input; NULL: none */
	const char *sha256;		/* of the package, in hexadecimal */
	const char *cgroup;		/* name of its own cgroup (child.h); NULL: none */
	/* Lock file: of commands with the same file, also of a previous daemon, one begins when the
	 * other has ended. */
	const char *lock;
	guint64 timeout_ms;
	/* INSERT, REMOVE */
	const char *module;
	const char *parameter; /* "compat_mode=Y"; NULL: none */
} RdmadHostCommand;

/* Declares a command, which is copied, and returns its number, the same for an equal command.
 * Returns 0 with RDMAD_ERROR_CONFIG: the list is closed, without the command; RDMAD_ERROR_INVALID:
 * a text is not UTF-8; RDMAD_ERROR_LIMIT: too many commands, or one is too long. */
RDMAD_API guint rdmad_host_declare(RdmadKeeper *keeper, const RdmadSysroot *root,
				   const RdmadHostCommand *command, GError **error);

/* Called on the loop once.  `error` is NULL after success; a program's exit status was then 0.
 * RDMAD_ERROR_NOT_FOUND: no such program or module; RDMAD_ERROR_TIMEOUT; RDMAD_ERROR_BUSY: the
 * module is in use; RDMAD_ERROR_LIMIT: the kernel killed the program, out of memory;
 * RDMAD_ERROR_INVALID: the package is too large or has another checksum; RDMAD_ERROR_FAILED;
 * RDMAD_ERROR_UNAVAILABLE: the command's process ended, and its progress is unknown.  `tail` is the
 * end of a program's output in printable UTF-8; may be "". */
typedef void (*RdmadHostDone)(const char *tail, const GError *error, gpointer data);

/* Starts command `number`.  The handle is valid until `done` is called or rdmad_host_cancel(). */
RDMAD_API RdmadHostRun *rdmad_host_start(RdmadLoop *loop, RdmadModule *owner, RdmadKeeper *keeper,
					 guint number, RdmadHostDone done, gpointer data,
					 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Kills a program, and cancels the call of `done`; a running system call completes.  Does nothing
 * if `run` is NULL. */
RDMAD_API void rdmad_host_cancel(RdmadHostRun *run);
