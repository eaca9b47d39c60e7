/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's request: environment and standard input. */
#pragma once

#include <stdint.h>

#include "shim/io.h"
#include "shim/message.h"

typedef struct {
	const char *command; /* "ADD"; NULL: none */
	char version[16];    /* of the configuration; the newest where it does not say */
	char environment[CNI_SHIM_ENVIRONMENT_MAX]; /* what is handed on of it */
	uint32_t environment_size;
	char input[CNI_SHIM_INPUT_MAX];
	uint32_t input_size;
	int netns; /* -1: none */
	uint64_t netns_device, netns_inode;
} ShimRequest;

/* A code of the protocol with a sentence, or 0; `request` is complete in either case. */
int request_read(ShimRequest *request, Deadline deadline, const char **problem);
