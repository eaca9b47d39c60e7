/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: whose answer is built next, of the requests at public listeners
 *
 * Addresses take turns, one answer each in a turn of the loop, so that a request waits for one answer of each other
 * address, whatever the number of requests there.  Of one address HTTP_BUILDS_MAX answers are under way at a time;
 * more requests wait in their order.
 */
#pragma once

#include <rdmad/types.h>

#define HTTP_BUILDS_MAX 4u

typedef struct HttpConnection HttpConnection;
typedef struct HttpTurns HttpTurns;
typedef struct HttpClient HttpClient; /* one address */

/* Place of one connection; all zero at first. */
typedef struct {
	HttpClient *client; /* NULL: it neither waits nor has an answer under way */
	GList node;
	gboolean building;
} HttpTurn;

HttpTurns *http_turns_new(RdmadLoop *loop, void (*take)(HttpConnection *c));
void http_turns_free(HttpTurns *turns);
/* Calls `take` on a turn of the loop to come. */
void http_turns_wait(HttpTurns *turns, HttpConnection *c);
/* Its answer is built, or nobody wants it any more.  Does nothing for a connection without a place. */
void http_turns_leave(HttpTurns *turns, HttpConnection *c);
