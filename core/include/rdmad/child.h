/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supervised child processes
 *
 * A child leads a process group of its own, inherits no descriptor but its three standard ones, no
 * environment and no signal disposition, and is killed by the kernel when the thread that started
 * it ends (PR_SET_PDEATHSIG): start it from the loop.  When the child has ended, at the deadline,
 * or when it is cancelled, the rest of its group is killed as well.
 *
 * A process may leave its group; it cannot leave a cgroup of the child's own, which is killed whole.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

#define RDMAD_CHILD_OUTPUT_MAX 65536u /* default: bytes kept of each stream */
#define RDMAD_CHILD_GRACE_MS   1000u  /* default: between SIGTERM and SIGKILL */

/* All is copied. */
typedef struct {
	const char *const *argv; /* argv[0]: the program, an absolute path */
	const char *const *envp; /* the whole environment; NULL: an empty one */
	const void *input;	 /* what it reads from its standard input, then its end */
	gsize input_size;
	int netns; /* descriptor of the network namespace to enter; 0: rdmad's own */
	/* In the mount and cgroup namespaces of PID 1, where a container sees the node: its programs and
	 * files.  `argv` and `cgroup` are paths there. */
	gboolean on_host;
	/* Name of a cgroup for this child alone, at the top of the cgroup v2 tree or in systemd's system.slice:
	 * outside the limits of rdmad's own.  Where it cannot be had, the child runs without.  NULL: none. */
	const char *cgroup;
	guint deadline_ms; /* SIGTERM after this; 0: never */
	guint grace_ms;	   /* SIGKILL so long after SIGTERM; 0: RDMAD_CHILD_GRACE_MS */
	gsize output_max;  /* kept of each stream; 0: RDMAD_CHILD_OUTPUT_MAX */
	/* Called before rdmad_child_start() returns, while the program does not run yet; FALSE: it
	 * never will.  May be NULL; gets the `data` of the child. */
	gboolean (*born)(pid_t pid, gpointer data, GError **error);
} RdmadChildSpec;

/* The end of a stream: its last bytes and a NUL. */
typedef struct {
	const char *bytes;
	gsize size;
	guint64 lost; /* bytes before them */
} RdmadChildOutput;

typedef struct {
	int exit_status;    /* -1: it did not exit by itself */
	int signal;	    /* that ended it; 0: none */
	gboolean timed_out; /* the deadline passed, however it ended then */
	RdmadChildOutput output, errors;
} RdmadChildResult;

/* Called on the loop once; `result` is valid during the call.  Exactly one of the two is NULL.
 * RDMAD_ERROR_NOT_FOUND: there is no such program; RDMAD_ERROR_FAILED: it could not be executed. */
typedef void (*RdmadChildDone)(const RdmadChildResult *result, const GError *error, gpointer data);

/* The handle is valid until `done` was called or rdmad_child_cancel(). */
RDMAD_API RdmadChild *rdmad_child_start(RdmadLoop *loop, RdmadModule *owner,
					const RdmadChildSpec *spec, RdmadChildDone done,
					gpointer data, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API pid_t rdmad_child_pid(const RdmadChild *child);
/* As at the deadline, but now: SIGTERM, later SIGKILL, and `done`. */
RDMAD_API void rdmad_child_terminate(RdmadChild *child);
/* Kills the group; `done` will not be called.  NULL is fine. */
RDMAD_API void rdmad_child_cancel(RdmadChild *child);
