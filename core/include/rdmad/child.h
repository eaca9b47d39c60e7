/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supervised child processes
 *
 * A child leads its own process group.  It has three descriptors, its standard ones, and inherits
 * neither environment nor signal dispositions.  Unless it `survives`, the kernel kills it when the
 * thread that started it ends (PR_SET_PDEATHSIG, prctl(2)): start it from the loop.  The whole
 * group is killed when the child ends, when it outlives the deadline by the grace time, or when it
 * is cancelled.
 *
 * A process may leave its group, but not the child's own cgroup, which is killed whole.
 */
#pragma once

#include <rdmad/types.h>
#include <sys/types.h>

#define RDMAD_CHILD_OUTPUT_MAX 65536u /* default: last bytes kept of each stream */
#define RDMAD_CHILD_GRACE_MS   1000u  /* default: between SIGTERM and SIGKILL */

/* rdmad_child_start() copies everything. */
typedef struct {
	const char *const *argv; /* argv[0]: absolute path of the program */
	const char *const *envp; /* the whole environment; NULL: an empty one */
	const void *input;	 /* its whole standard input */
	gsize input_size;
	int netns; /* descriptor of the network namespace to enter; 0: rdmad's own */
	/* Runs the program in the mount and cgroup namespaces of PID 1, with the programs and files
	 * of the node if rdmad is in a container.  `argv` and `cgroup` are paths there. */
	gboolean on_host;
	/* Name of a cgroup for this child alone, at the top of the cgroup v2 tree or in systemd's
	 * system.slice: outside the limits of rdmad's own.  With the memory controller of cgroup v1
	 * it is in that hierarchy, too.  Where the kernel has none or refuses it, the child runs
	 * without; after another error it is not started.  NULL: none. */
	const char *cgroup;
	gboolean survives; /* the end of rdmad does not kill the program, which may be half-way */
	guint deadline_ms; /* from the start to SIGTERM; 0: none */
	guint grace_ms;	   /* from SIGTERM to SIGKILL; 0: RDMAD_CHILD_GRACE_MS */
	gsize output_max;  /* bytes of each stream; 0: RDMAD_CHILD_OUTPUT_MAX */
	/* Called by rdmad_child_start() with its `data`, before the program is executed.  If it
	 * returns FALSE, the program is not executed and rdmad_child_start() fails with `error`.
	 * May be NULL. */
	gboolean (*born)(pid_t pid, gpointer data, GError **error);
} RdmadChildSpec;

/* The last bytes of a stream, and a NUL that is not counted. */
typedef struct {
	const char *bytes;
	gsize size;
	guint64 lost; /* bytes before them */
} RdmadChildOutput;

typedef struct {
	int exit_status;    /* -1: it did not exit */
	int signal;	    /* the signal that ended it; 0: none */
	gboolean timed_out; /* the deadline passed, or the patience with it, however it ended */
	/* The kernel has killed a process of its cgroup for lack of memory; only of a child with
	 * `cgroup`. */
	gboolean out_of_memory;
	RdmadChildOutput output, errors;
} RdmadChildResult;

/* Called on the loop once; `result` is valid during the call.  Exactly one of `result` and `error`
 * is NULL. RDMAD_ERROR_NOT_FOUND: no such program; RDMAD_ERROR_FAILED: the program could not be
 * executed. */
typedef void (*RdmadChildDone)(const RdmadChildResult *result, const GError *error, gpointer data);

/* Starts a child; the handle is valid until `done` is called or rdmad_child_cancel().
 * RDMAD_ERROR_FAILED, or the error of `born`. */
RDMAD_API RdmadChild *rdmad_child_start(RdmadLoop *loop, RdmadModule *owner,
					const RdmadChildSpec *spec, RdmadChildDone done,
					gpointer data, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API pid_t rdmad_child_pid(const RdmadChild *child);
/* Sends SIGTERM if the child has not ended after `patience_ms`, and SIGKILL after the grace time;
 * `done` is called at the end. */
RDMAD_API void rdmad_child_terminate(RdmadChild *child, guint patience_ms);
/* Kills the group and cancels the call of `done`.  Does nothing if `child` is NULL. */
RDMAD_API void rdmad_child_cancel(RdmadChild *child);
