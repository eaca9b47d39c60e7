/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of passwords, by crypt(3). */
#pragma once

#include <glib.h>

/* 43 ms at 10, twice that at each more; 16 is 2.7 s for every password that was not seen before. */
#define RDMAD_BCRYPT_COST_MAX 16

/* "$2y$10$..." whole, also 2a and 2b.  The message of RDMAD_ERROR_INVALID does not contain the
 * hash. */
gboolean rdmad_bcrypt_is_hash(const char *hash, GError **error);
/* For one that is a hash. */
int rdmad_bcrypt_cost(const char *hash);
/* Whether it is the password's.  Takes its time: on a worker. */
gboolean rdmad_bcrypt_match(const char *hash, const char *password);
/* One of that cost that no password has. */
char *rdmad_bcrypt_nobody(int cost);
