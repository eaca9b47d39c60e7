/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors
 *
 * A function that can fail takes `GError **error` last and returns FALSE, NULL or -1.  It may be
 * matched only against the codes that its own comment lists; every other error is passed up
 * unchanged, with g_prefix_error() naming the operation that failed.  The caller that handles the
 * error logs it, once.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_ERROR rdmad_error_quark()
RDMAD_API GQuark rdmad_error_quark(void);

typedef enum {			   /* append only: tests and modules match on these */
	       RDMAD_ERROR_FAILED, /* the system refused; the message carries strerror() */
	       RDMAD_ERROR_CONFIG, /* the configuration is wrong; the message carries file:line */
	       RDMAD_ERROR_NOT_FOUND,	/* no such device, allocation, file */
	       RDMAD_ERROR_BUSY,	/* held by another */
	       RDMAD_ERROR_GONE,	/* was there, was removed */
	       RDMAD_ERROR_LIMIT,	/* a configured bound was reached */
	       RDMAD_ERROR_ABI,		/* the module does not fit this daemon */
	       RDMAD_ERROR_INVALID,	/* input from outside is malformed; the message names the
				     * place */
	       RDMAD_ERROR_TIMEOUT,	/* the deadline passed */
	       RDMAD_ERROR_CANCELLED,	/* the owner withdrew it */
	       RDMAD_ERROR_UNAVAILABLE, /* the other side is not there now; trying again may help */
} RdmadError;

/* Sets RDMAD_ERROR_FAILED "<message>: <strerror>".  Always FALSE, so that
 * `return rdmad_error_errno(...)` reads as one step.  Keeps errno. */
RDMAD_API gboolean rdmad_error_errno(GError **error, int errnum, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
