/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between rdmad-cni and the module
 *
 * Each connection carries one request and one answer, each a message of a SOCK_SEQPACKET socket, in
 * native byte order.  This header includes the C library only, because the shim has no other.
 *
 * Request: CniMessageHead, the environment ("NAME=value", each terminated by a NUL), the standard
 * input.  Its descriptors are, if the flags say so, the network namespace and a memory file with
 * the standard input, in this order.
 *
 * Answer: CniAnswerHead and the standard output, or a memory file with it.
 *
 * Spooled DEL: CniSpoolHead, the environment, the standard input.
 */
#pragma once

#include <stdint.h>

#define CNI_MESSAGE_MAGIC   0x434d4452u /* "RDMC" */
#define CNI_SPOOL_MAGIC	    0x53434452u /* "RDCS" */
#define CNI_MESSAGE_VERSION 1u

/* A larger standard input is sent as a memory file. */
#define CNI_MESSAGE_INLINE_MAX 49152u
#define CNI_MESSAGE_SIZE_MAX   131072u

#define CNI_SHIM_ENVIRONMENT_MAX 65536u
#define CNI_SHIM_INPUT_MAX	 1048576u

enum {
	CNI_MESSAGE_HAS_NETNS = 1,
	CNI_MESSAGE_IN_FILE = 2,
};

typedef struct {
	uint32_t magic;
	uint16_t version, flags;
	uint32_t environment, input; /* bytes */
} CniMessageHead;

typedef struct {
	uint32_t magic;
	uint16_t version, flags;
	uint32_t status; /* exit status of the plugin: 0, or 1 with an error on standard output */
	uint32_t output; /* bytes */
} CniAnswerHead;

/* Records are files named by 32 hexadecimal digits; other files in the directory are ignored. */
typedef struct {
	uint32_t magic;
	uint16_t version, flags;
	uint32_t environment, input;
	uint64_t netns_device, netns_inode; /* 0, 0: the DEL came without a namespace */
	char boot_id[40];
	uint64_t sum; /* FNV-1a of the head, with 0 here, and of the rest */
} CniSpoolHead;
