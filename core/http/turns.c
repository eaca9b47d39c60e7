/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/loop.h>

#include "http/server.h"

#define FULL_MS 100u /* until the next look for room */

struct HttpClient {
	HttpPeer peer;
	GQueue waiting; /* HttpConnection, oldest first */
	guint building;
	GList node; /* in `order`, while requests wait and may be built */
	gboolean in_order;
};

struct HttpTurns {
	GHashTable *clients; /* HttpClient by its peer */
	GQueue order;	     /* HttpClient with a waiting request that may be built, next first */
	RdmadEvent *next;
	void (*take)(HttpConnection *c);
	gboolean (*has_room)(gpointer data);
	gpointer data;
};

static HttpClient *client_get(HttpTurns *turns, const HttpPeer *peer)
{
	HttpClient *client = g_hash_table_lookup(turns->clients, peer);

	if (client)
		return client;
	client = g_new0(HttpClient, 1);
	client->peer = *peer;
	client->node.data = client;
	g_hash_table_insert(turns->clients, &client->peer, client);
	return client;
}

/* Updates the place in the order.  Frees the client if it has no requests. */
static void client_update(HttpTurns *turns, HttpClient *client)
{
	const gboolean due = client->waiting.length && client->building < HTTP_BUILDS_MAX;

	if (due && !client->in_order)
		g_queue_push_tail_link(&turns->order, &client->node);
	else if (!due && client->in_order)
		g_queue_unlink(&turns->order, &client->node);
	client->in_order = due;
	if (turns->order.length)
		rdmad_event_arm(turns->next, 0);
	if (!client->waiting.length && !client->building)
		g_hash_table_remove(turns->clients, &client->peer);
}

/* Starts only one response per iteration, so that events of higher priority wait for no more. */
static void turns_next(gpointer data)
{
	HttpTurns *turns = data;
	HttpClient *client = g_queue_peek_head(&turns->order);
	HttpConnection *c;

	if (!client)
		return;
	if (!turns->has_room(turns->data)) {
		rdmad_event_arm(turns->next, FULL_MS);
		return;
	}
	c = g_queue_peek_head(&client->waiting);
	g_queue_unlink(&client->waiting, &c->turn.node);
	c->turn.building = TRUE;
	client->building++;
	g_queue_unlink(&turns->order, &client->node); /* goes to the end if more requests wait */
	client->in_order = FALSE;
	client_update(turns, client);
	turns->take(c);
}

void http_turns_wait(HttpTurns *turns, HttpConnection *c)
{
	HttpClient *client = client_get(turns, &c->peer);

	c->turn = (HttpTurn){ .client = client, .node.data = c };
	g_queue_push_tail_link(&client->waiting, &c->turn.node);
	client_update(turns, client);
}

void http_turns_leave(HttpTurns *turns, HttpConnection *c)
{
	HttpClient *client = g_steal_pointer(&c->turn.client);

	if (!client)
		return;
	if (c->turn.building)
		client->building--;
	else
		g_queue_unlink(&client->waiting, &c->turn.node);
	client_update(turns, client);
}

HttpTurns *http_turns_new(RdmadLoop *loop, void (*take)(HttpConnection *c),
			  gboolean (*has_room)(gpointer data), gpointer data)
{
	HttpTurns *turns = g_new0(HttpTurns, 1);

	turns->clients = g_hash_table_new_full(http_peer_hash, http_peer_equal, NULL, g_free);
	turns->take = take;
	turns->has_room = has_room;
	turns->data = data;
	turns->next = rdmad_loop_add_timer(loop, NULL, turns_next, turns);
	rdmad_event_set_low(turns->next);
	return turns;
}

void http_turns_free(HttpTurns *turns)
{
	rdmad_event_free(turns->next);
	g_hash_table_unref(turns->clients);
	g_free(turns);
}
