/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the daemon. */
#pragma once

#include "shim/request.h"

typedef enum {
	CALL_ANSWERED,
	CALL_NOBODY,  /* nobody listens there, or hangs up before it has answered */
	CALL_LATE,    /* it listens, and does not answer in time */
	CALL_REFUSED, /* we may not, or what it says is no answer */
} CallOutcome;

typedef struct {
	uint32_t status;
	uint32_t size;
	char output[CNI_SHIM_INPUT_MAX];
} CallAnswer;

/* Tries again for `wait_ms` while nobody is there; a request that is sent twice is done once. */
CallOutcome call_daemon(const ShimRequest *request, const char *path, int64_t wait_ms,
			Deadline deadline, CallAnswer *answer);
