/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/bcrypt.h"

#include <rdmad/error.h>
#include <string.h>

#define HASH_LENGTH 60u /* "$2y$10$", 22 of salt, 31 of hash */
#define HASH_START  7u
#define ALPHABET    "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static gboolean hash_error(const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "%s; `htpasswd -nBC 10 NAME` makes a bcrypt hash", why);
	return FALSE;
}

int rdmad_bcrypt_cost(const char *hash)
{
	return (hash[4] - '0') * 10 + (hash[5] - '0');
}

static gboolean cost_is_good(const char *hash, GError **error)
{
	const int cost = rdmad_bcrypt_cost(hash);

	if (cost < 4)
		return hash_error("bcrypt's cost begins with 04", error);
	return cost <= RDMAD_BCRYPT_COST_MAX ||
	       hash_error("a cost above 16 takes seconds of CPU time for each try", error);
}

gboolean rdmad_bcrypt_is_hash(const char *hash, GError **error)
{
	if (strlen(hash) != HASH_LENGTH || hash[0] != '$' || hash[1] != '2' ||
	    !strchr("aby", hash[2]) || hash[3] != '$' || !g_ascii_isdigit(hash[4]) ||
	    !g_ascii_isdigit(hash[5]) || hash[6] != '$' ||
	    strspn(hash + HASH_START, ALPHABET) != HASH_LENGTH - HASH_START)
		return hash_error("not a bcrypt hash", error);
	return cost_is_good(hash, error);
}

char *rdmad_bcrypt_nobody(int cost)
{
	g_autofree char *zeros = g_strnfill(HASH_LENGTH - HASH_START, '.');

	return g_strdup_printf("$2y$%02d$%s", cost, zeros);
}
