/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host commands: programs of the node, and kernel modules, run with capabilities that the daemon has given up
 *
 * A module declares each command whole while it starts.  Then the list is closed (RdmadKeeper has it), and a
 * request is the number of a command: whoever takes over the daemon can have done what the configuration
 * names, and nothing else.  A command runs in a process of its own, a supervised child (child.h) below it.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_HOST_TAIL	   4096u	       /* bytes that are kept of what a program printed */
#define RDMAD_HOST_PACKAGE (64u * 1024 * 1024) /* the largest package */

typedef enum {
	RDMAD_HOST_PROGRAM, /* in the mount namespace of PID 1, with the files of the node */
	RDMAD_HOST_INSERT,  /* finit_module(2), with the modules that it needs before it */
	RDMAD_HOST_REMOVE,  /* delete_module(2) */
} RdmadHostKind;

/* Texts are UTF-8, and copied. */
typedef struct {
	RdmadHostKind kind;
	/* Of a program; argv[0] is an absolute path of the node. */
	const char *const *argv;
	const char *const *environment; /* "NAME=value", beside PATH and HOME; NULL: none */
	const char *package;		/* a file of the node, its standard input; NULL: none */
	const char *sha256;		/* of the package, in hexadecimal digits */
	const char *cgroup;		/* of its own; NULL: none */
	/* A file that it holds the lock of: of two with the same one, also of a daemon and the next, the second
	 * begins when the first has ended. */
	const char *lock;
	guint64 timeout_ms;
	/* Of the others. */
	const char *module;
	const char *parameter; /* "compat_mode=Y"; NULL: none */
} RdmadHostCommand;

/* Its number; the same one for the same command.  0: RDMAD_ERROR_CONFIG: the list is closed and has no such
 * command; RDMAD_ERROR_INVALID, RDMAD_ERROR_LIMIT. */
RDMAD_API guint rdmad_host_declare(RdmadKeeper *keeper, const RdmadSysroot *root,
				   const RdmadHostCommand *command, GError **error);

/* Called on the loop once.  `error` NULL: it succeeded; a program's exit status was 0.
 * RDMAD_ERROR_NOT_FOUND: there is no such program or module; RDMAD_ERROR_TIMEOUT; RDMAD_ERROR_BUSY: the module
 * is in use; RDMAD_ERROR_INVALID: the package is another one; RDMAD_ERROR_FAILED; RDMAD_ERROR_UNAVAILABLE: its
 * process ended, and how far it came is unknown.  `tail`: a program's last lines, printable UTF-8; may be "". */
typedef void (*RdmadHostDone)(const char *tail, const GError *error, gpointer data);

/* The handle is valid until `done` was called or rdmad_host_cancel(). */
RDMAD_API RdmadHostRun *rdmad_host_start(RdmadLoop *loop, RdmadModule *owner, RdmadKeeper *keeper,
					 guint number, RdmadHostDone done, gpointer data,
					 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Kills a program; a call that is under way is carried out.  `done` is not called.  NULL is fine. */
RDMAD_API void rdmad_host_cancel(RdmadHostRun *run);
