/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors
 *
 * A function that can fail takes `GError **error` last, and returns FALSE, NULL or -1.  A caller
 * may match only the codes that the function's comment lists.  It passes other errors up unchanged,
 * with the failed operation prefixed by g_prefix_error().  The caller that handles the error logs
 * it, once.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_ERROR rdmad_error_quark()
RDMAD_API GQuark rdmad_error_quark(void);

typedef enum {				/* append only: tests and modules match on these */
	       RDMAD_ERROR_FAILED,	/* the system failed; the message has strerror() */
	       RDMAD_ERROR_CONFIG,	/* the configuration is wrong; the message has file:line */
	       RDMAD_ERROR_NOT_FOUND,	/* no such device, allocation, file */
	       RDMAD_ERROR_BUSY,	/* held by another */
	       RDMAD_ERROR_GONE,	/* removed meanwhile */
	       RDMAD_ERROR_LIMIT,	/* a limit was reached */
	       RDMAD_ERROR_ABI,		/* the module does not fit this daemon */
	       RDMAD_ERROR_INVALID,	/* outside input is malformed; the message names the
				     * place */
	       RDMAD_ERROR_TIMEOUT,	/* the deadline passed */
	       RDMAD_ERROR_CANCELLED,	/* cancelled by its owner */
	       RDMAD_ERROR_UNAVAILABLE, /* the other side is not available; a retry may succeed */
} RdmadError;

/* Sets RDMAD_ERROR_FAILED "<message>: <strerror>", and returns FALSE, for `return
 * rdmad_error_errno(...)`. Preserves errno. */
RDMAD_API gboolean rdmad_error_errno(GError **error, int errnum, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
