/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp: the system calls that the processes of rdmad may make; any other ends the process with SIGSYS
 *
 * The table is in seccomp.c.  A call that is younger than libseccomp fails with ENOSYS, as in an older kernel:
 * a C library that tries it goes on.
 */
#pragma once

#include <rdmad/types.h>

typedef enum { RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_LOG, RDMAD_SECCOMP_OFF } RdmadSeccomp;

typedef enum {
	RDMAD_SECCOMP_DAEMON, /* no other program is executed */
	RDMAD_SECCOMP_PROGRAMS, /* the daemon, with plugins of others as its children, which have the same filter */
	RDMAD_SECCOMP_EXECUTOR, /* enters network namespaces */
} RdmadSeccompProcess;

/* "enforce", "log", "off"; by RdmadSeccomp. */
extern const char *const rdmad_seccomp_names[];
/* OFF with sanitizers, which make calls of their own. */
RdmadSeccomp rdmad_seccomp_default(void);

/* For this thread and those that it makes later: before there are others, and after the capabilities were limited
 * (PR_SET_NO_NEW_PRIVS).  RDMAD_ERROR_UNAVAILABLE: the kernel has no seccomp; RDMAD_ERROR_FAILED. */
gboolean rdmad_seccomp_install(RdmadSeccomp mode, RdmadSeccompProcess process, GError **error);
