/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of rdmad-cni. */
#pragma once

#include <stdint.h>

#include "shim/io.h"
#include "shim/message.h"

/* ---- request.c: environment and standard input, from the runtime ---- */

typedef struct {
	const char *command; /* "ADD"; NULL: none */
	char version[16];    /* of the configuration; the newest if it has none */
	char environment[CNI_SHIM_ENVIRONMENT_MAX]; /* the variables to forward */
	uint32_t environment_size;
	char input[CNI_SHIM_INPUT_MAX];
	uint32_t input_size;
	int netns; /* -1: none */
	uint64_t netns_device, netns_inode;
} ShimRequest;

/* Returns a code of the protocol and sets `problem`, or returns 0.  `request` is complete in either
 * case. */
int request_read(ShimRequest *request, Deadline deadline, const char **problem);

/* ---- call.c: the request to the daemon, and its answer ---- */

typedef enum {
	CALL_ANSWERED,
	CALL_UNREACHABLE, /* no daemon listens, or it closed the connection early */
	CALL_TIMED_OUT,	  /* the daemon did not answer in time */
	CALL_REFUSED,	  /* no permission, or an invalid answer */
} CallOutcome;

typedef struct {
	uint32_t status;
	uint32_t size;
	char output[CNI_SHIM_INPUT_MAX];
} CallAnswer;

/* Retries for `wait_ms` while no daemon listens.  A request that is sent twice is executed once. */
CallOutcome call_daemon(const ShimRequest *request, const char *path, int64_t wait_ms,
			Deadline deadline, CallAnswer *answer);

/* ---- spool.c: a DEL for the daemon's next start ---- */

#define SPOOL_NAME_SIZE 33

/* Returns 0 if the DEL is on the disk, under `name`; -1 with errno if not.  ENOBUFS: the spool is
 * full. */
int spool_write(const ShimRequest *request, const char *directory, char name[SPOOL_NAME_SIZE]);
void spool_remove(const char *directory, const char *name);

/* ---- install.c: copies this program to the runtime's directory of plugins ---- */

/* Returns 0, or -1 and prints an error. */
int install_into(const char *directory);
