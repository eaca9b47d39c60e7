/* SPDX-License-Identifier: Apache-2.0 */
/* Password hashes by crypt(3) */
#pragma once

#include <glib.h>

/* A check takes 43 ms at cost 10 and doubles with each step: 2.7 s at 16 for each uncached
 * password. */
#define RDMAD_BCRYPT_COST_MAX 16

/* Accepts a complete "$2y$10$...", also 2a and 2b.  The message of RDMAD_ERROR_INVALID does not
 * contain the hash. */
gboolean rdmad_bcrypt_is_hash(const char *hash, GError **error);
/* Returns the cost of a valid hash. */
int rdmad_bcrypt_cost(const char *hash);
/* Returns whether the password matches.  Slow by design: call it on a worker. */
gboolean rdmad_bcrypt_match(const char *hash, const char *password);
/* Returns a hash of this cost that no password matches. */
char *rdmad_bcrypt_nobody(int cost);
