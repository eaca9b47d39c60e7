/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Password hashes, and the interface of rdmad-crypt.so, which is loaded when a web configuration
 * has users
 *
 * Linked in, libcrypt costs an idle daemon 80 KiB (PSS, before any use).
 */
#pragma once

#include <rdmad/types.h>

#include "base/part.h"

/* A check takes 43 ms at cost 10 and doubles with each step: 2.7 s at 16 for each uncached
 * password. */
#define RDMAD_BCRYPT_COST_MAX 16

/* Accepts a complete "$2y$10$...", also 2a and 2b.  The message of RDMAD_ERROR_INVALID does not
 * contain the hash. */
gboolean rdmad_bcrypt_is_hash(const char *hash, GError **error);
/* Returns the cost of a valid hash. */
int rdmad_bcrypt_cost(const char *hash);
/* Returns a hash of this cost that no password matches. */
char *rdmad_bcrypt_nobody(int cost);

typedef struct {
	RdmadPart part;
	/* Returns whether the password matches the hash, which is valid.  Slow by design: call it
	 * on a worker. */
	gboolean (*match)(const char *hash, const char *password);
} HttpCryptClass;

#define HTTP_CRYPT_OBJECT "rdmad-crypt"
#define HTTP_CRYPT_SYMBOL "rdmad_http_crypt"
