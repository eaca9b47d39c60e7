/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp: limits the system calls of rdmad's processes; any other call ends the process with
 * SIGSYS
 *
 * The table is in seccomp.c.  A call that is newer than libseccomp fails with ENOSYS, as on an
 * older kernel, so that a C library uses its fallback.
 */
#pragma once

#include <rdmad/types.h>

typedef enum { RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_LOG, RDMAD_SECCOMP_OFF } RdmadSeccomp;

typedef enum {
	RDMAD_SECCOMP_DAEMON,	/* executes no program */
	RDMAD_SECCOMP_PROGRAMS, /* the daemon if it executes plugins, which inherit the filter */
	RDMAD_SECCOMP_EXECUTOR, /* enters network namespaces */
} RdmadSeccompProcess;

/* "enforce", "log", "off", indexed by RdmadSeccomp. */
extern const char *const rdmad_seccomp_names[];
/* Returns OFF in builds with sanitizers, which need additional calls. */
RdmadSeccomp rdmad_seccomp_default(void);

/* Applies to this thread and its descendants: call it before starting threads, and after
 * limiting the capabilities (PR_SET_NO_NEW_PRIVS).  RDMAD_ERROR_UNAVAILABLE: the kernel has no
 * seccomp; RDMAD_ERROR_FAILED. */
gboolean rdmad_seccomp_install(RdmadSeccomp mode, RdmadSeccompProcess process, GError **error);
