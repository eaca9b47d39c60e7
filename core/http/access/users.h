/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication of a listener's users by name and password
 *
 * A hash takes tens of milliseconds by design.  Hashes are computed on a worker, one at a time, and
 * the queue is short, with one entry for each address: a client that guesses passwords blocks only
 * clients with its address.  A correct password is cached; a wrong one is checked each time,
 * whether or not the user exists.  Addresses with a correct password are served first, addresses
 * with a wrong one last.
 */
#pragma once

#include <rdmad/types.h>

#include "http/access/bcrypt.h"
#include "http/access/peer.h"

typedef struct HttpUsers HttpUsers;

typedef enum {
	HTTP_AUTH_YES,
	HTTP_AUTH_NO,
	HTTP_AUTH_BUSY,	 /* the queue is full, has a check of this peer, or dropped the check, or it
			    failed */
	HTTP_AUTH_LATER, /* the callback will report the result */
} HttpAuth;

typedef void (*HttpAuthFunc)(HttpAuth answer, gpointer data);

#define HTTP_USERS_CHECKS 16u	/* running and queued */
#define HTTP_USERS_KNOWN  1024u /* cached correct passwords */

#define HTTP_USERS_PEERS 4096u /* addresses with a rank */

/* `hashes` maps names to bcrypt hashes, is not empty, and is referenced.  `before`: the users
 * that are replaced, or NULL; cached results of unchanged hashes are kept. */
HttpUsers *http_users_new(RdmadWorkers *workers, const HttpCryptClass *crypt, GHashTable *hashes,
			  const HttpUsers *before);
/* Reports HTTP_AUTH_BUSY to the waiters. */
void http_users_free(HttpUsers *users);
/* `authorization` is the value of the header, or NULL. */
HttpAuth http_users_ask(HttpUsers *users, const HttpPeer *peer, const char *authorization,
			HttpAuthFunc fn, gpointer data);
/* Cancels the callbacks with this `data`. */
void http_users_forget(HttpUsers *users, gpointer data);
