/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of rdmad-cni. */
#pragma once

#include <stdint.h>

#include "shim/io.h"
#include "shim/message.h"

/* ---- request.c: environment and standard input, from the runtime ---- */

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

/* ---- call.c: the request to the daemon, and its answer ---- */

typedef enum {
	CALL_ANSWERED,
	CALL_NOBODY,  /* nobody listens there, or hangs up before it has answered */
	CALL_LATE,    /* it listens, and does not answer in time */
	CALL_REFUSED, /* we may not, or what it says is not an answer */
} CallOutcome;

typedef struct {
	uint32_t status;
	uint32_t size;
	char output[CNI_SHIM_INPUT_MAX];
} CallAnswer;

/* Tries again for `wait_ms` while nobody is there; a request that is sent twice is done once. */
CallOutcome call_daemon(const ShimRequest *request, const char *path, int64_t wait_ms,
			Deadline deadline, CallAnswer *answer);

/* ---- spool.c: a DEL that the daemon is to do when it is there again ---- */

#define SPOOL_NAME_SIZE 33

/* 0: it is on the disk, under `name`.  -1 with errno: it is not. */
int spool_write(const ShimRequest *request, const char *directory, char name[SPOOL_NAME_SIZE]);
void spool_remove(const char *directory, const char *name);

/* ---- install.c: this program, copied to where runtimes look for plugins ---- */

/* 0, or -1 with a line on standard error. */
int install_into(const char *directory);
