/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of `rdmad doctor`: facts of the node for support, and problems with advice
 */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_FINDING_OK,
	RDMAD_FINDING_NOTE,    /* worth knowing, not a problem */
	RDMAD_FINDING_PROBLEM, /* something will not work */
} RdmadFinding;

/* Appends {"level", "subject", "text", "advice"} to a JSON array.  `advice` may be NULL. */
RDMAD_API void rdmad_doctor_add(struct json_t *findings, RdmadFinding level, const char *subject,
				const char *text, const char *advice);
