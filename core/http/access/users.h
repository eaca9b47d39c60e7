/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users of a listener, by name and password
 *
 * A hash takes tens of milliseconds by design, so it is computed on a worker, one at a time, and
 * few may wait for it, one of each address: a guessing client blocks only those that share its
 * address.  A correct password is cached; a wrong one costs its sender the wait each time, whether
 * or not there is such a user.  Addresses with a correct password are served first, those with a
 * wrong one last.
 */
#pragma once

#include <rdmad/types.h>

#include "http/access/peer.h"

typedef struct HttpUsers HttpUsers;

typedef enum {
	HTTP_AUTH_YES,
	HTTP_AUTH_NO,
	HTTP_AUTH_BUSY,	 /* too many are being checked, or another of this peer */
	HTTP_AUTH_LATER, /* the function will be called */
} HttpAuth;

typedef void (*HttpAuthFunc)(HttpAuth answer, gpointer data);

#define HTTP_USERS_CHECKS 16u	/* under way and waiting */
#define HTTP_USERS_KNOWN  1024u /* right passwords that are remembered */

#define HTTP_USERS_PEERS 4096u /* addresses that are remembered */

/* `hashes`: name to bcrypt hash, not empty; a reference is kept.  `before`: those that they take the place
 * of, or NULL; results remembered for hashes that stay are kept. */
HttpUsers *http_users_new(RdmadWorkers *workers, GHashTable *hashes, const HttpUsers *before);
/* Waiters get HTTP_AUTH_BUSY. */
void http_users_free(HttpUsers *users);
/* `authorization`: the header's value, or NULL. */
HttpAuth http_users_ask(HttpUsers *users, const HttpPeer *peer, const char *authorization,
			HttpAuthFunc fn, gpointer data);
/* `data` waits no longer. */
void http_users_forget(HttpUsers *users, gpointer data);
