/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: the order in which responses of public listeners are built
 *
 * Addresses take turns: each iteration of the loop starts one response.  A request thus waits for
 * at most one response of every other address, however many requests that has.  At most
 * HTTP_BUILDS_MAX responses of one address are built at a time; further requests are queued.  All
 * requests wait while there is no room for a response.
 */
#pragma once

#include <rdmad/types.h>

#define HTTP_BUILDS_MAX 4u

typedef struct HttpConnection HttpConnection;
typedef struct HttpTurns HttpTurns;
typedef struct HttpClient HttpClient; /* one address */

/* The place of one connection; zero-initialized. */
typedef struct {
	HttpClient *client; /* NULL: the connection neither waits nor builds a response */
	GList node;
	gboolean building;
} HttpTurn;

/* `has_room` returns whether a response may be built now. */
HttpTurns *http_turns_new(RdmadLoop *loop, void (*take)(HttpConnection *c),
			  gboolean (*has_room)(gpointer data), gpointer data);
void http_turns_free(HttpTurns *turns);
/* Calls `take` in a later iteration of the loop. */
void http_turns_wait(HttpTurns *turns, HttpConnection *c);
/* Call when the response is built or no longer needed.  Does nothing for a connection without a
 * place. */
void http_turns_leave(HttpTurns *turns, HttpConnection *c);
