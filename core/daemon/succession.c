/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "hand-over"

#include "daemon/succession.h"

#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/unix-socket.h"
#include "service/hand-over-private.h"

#define ASK_MAX	 4096u
#define PEERS	 4u
#define PATIENCE 5000u /* for a successor to take a part */

struct RdmadSuccession {
	RdmadLoop *loop;
	RdmadHandOver *hand_over;
	char *path;
	RdmadMessageServer *server;
	RdmadMessagePeer *successor; /* the first that has asked */
	RdmadMessagePeer *giver;
	void (*wanted)(gpointer data); /* NULL: called, or nobody serves */
	gpointer wanted_data;
	void (*given)(gpointer data);
	gpointer given_data;
	RdmadEvent *turn; /* timer: `given` is called from the loop */
};

/* ---- of the one that runs ---- */

static void give_over(gpointer data)
{
	RdmadSuccession *succession = data;
	void (*given)(gpointer) = succession->given;

	succession->given = NULL;
	if (given)
		given(succession->given_data);
}

static void give_next(RdmadSuccession *succession)
{
	int fds[RDMAD_MESSAGE_FDS_MAX];
	g_autoptr(GError) error = NULL;
	guint n_fds = 0;
	g_autofree char *part = succession->successor
					? rdmad_hand_over_next(succession->hand_over, fds, &n_fds)
					: NULL;

	rdmad_event_arm(succession->turn, part ? PATIENCE : 0);
	if (part && !rdmad_message_peer_send(succession->successor, part, strlen(part), fds, n_fds,
					     &error)) {
		rdmad_warn("a part is not given: %s", error->message);
		rdmad_event_arm(succession->turn, 0);
	}
}

static void successor_asked(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	RdmadSuccession *succession = data;
	json_t *ask = rdmad_json_parse((const char *)message->bytes, message->size, 4, NULL);
	const gboolean now = json_is_true(json_object_get(ask, "now"));

	json_decref(ask);
	if (!succession->successor)
		succession->successor = peer;
	if (succession->successor != peer)
		return;
	if (succession->given)
		give_next(succession);
	else if (now && succession->wanted)
		g_steal_pointer (&succession->wanted)(succession->wanted_data);
}

static void successor_gone(RdmadMessagePeer *peer, gpointer data)
{
	RdmadSuccession *succession = data;

	if (succession->successor != peer)
		return;
	succession->successor = NULL;
	if (succession->given)
		rdmad_event_arm(succession->turn, 0);
}

static const RdmadMessageOps server_ops = { successor_asked, successor_gone };

static gboolean succession_listen(RdmadSuccession *succession, GError **error)
{
	/* Asks are not answered before all is still. */
	const RdmadMessageLimits limits = { .size_max = ASK_MAX,
					    .peers_max = PEERS,
					    .unanswered_max = 2 };

	succession->server = rdmad_message_server_new(succession->loop, NULL, succession->path,
						      &limits, &server_ops, succession, error);
	return succession->server != NULL;
}

gboolean rdmad_succession_serve(RdmadSuccession *succession, void (*wanted)(gpointer data),
				gpointer data, GError **error)
{
	succession->wanted = wanted;
	succession->wanted_data = data;
	return succession_listen(succession, error);
}

gboolean rdmad_succession_keep(RdmadSuccession *succession, GError **error)
{
	if (!succession->server || succession->successor ||
	    g_file_test(succession->path, G_FILE_TEST_EXISTS))
		return TRUE;
	g_clear_pointer(&succession->server, rdmad_message_server_free);
	return succession_listen(succession, error);
}

gboolean rdmad_succession_waits(const RdmadSuccession *succession)
{
	return succession->successor != NULL;
}

pid_t rdmad_succession_pid(const RdmadSuccession *succession)
{
	return succession->successor ? rdmad_message_peer_pid(succession->successor) : 0;
}

void rdmad_succession_give(RdmadSuccession *succession, void (*given)(gpointer data), gpointer data)
{
	succession->given = given;
	succession->given_data = data;
	give_next(succession);
}

/* ---- of the successor ---- */

static void part_received(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	static const char next[] = "{\"next\":true}";
	RdmadSuccession *succession = data;
	g_autoptr(GError) error = NULL;

	if (!rdmad_hand_over_put(succession->hand_over, message, &error))
		rdmad_warn("a part that was given is not understood: %s", error->message);
	/* A giver that has gone is seen as such. */
	rdmad_message_peer_send(peer, next, strlen(next), NULL, 0, NULL);
}

static void giver_gone(RdmadMessagePeer *peer, gpointer data)
{
	RdmadSuccession *succession = data;

	succession->giver = NULL;
}

static const RdmadMessageOps peer_ops = { part_received, giver_gone };

void rdmad_succession_ask(RdmadSuccession *succession, gboolean now)
{
	const RdmadMessageLimits limits = { .fds_max = RDMAD_MESSAGE_FDS_MAX, .unanswered_max = 2 };
	const char *ask = now ? "{\"now\":true}" : "{\"now\":false}";
	int fd;

	if (succession->giver)
		return;
	/* One that starts does not listen yet, and an older one never will. */
	fd = rdmad_unix_connect(SOCK_SEQPACKET, succession->path, NULL);
	if (fd < 0)
		return;
	succession->giver = rdmad_message_peer_new(succession->loop, NULL, fd, &limits, &peer_ops,
						   succession, NULL);
	if (succession->giver &&
	    !rdmad_message_peer_send(succession->giver, ask, strlen(ask), NULL, 0, NULL))
		g_clear_pointer(&succession->giver, rdmad_message_peer_close);
}

gboolean rdmad_succession_receives(const RdmadSuccession *succession)
{
	return succession->giver != NULL;
}

/* ---- life ---- */

RdmadSuccession *rdmad_succession_new(RdmadLoop *loop, RdmadHandOver *hand_over,
				      const char *run_dir)
{
	RdmadSuccession *succession = g_new0(RdmadSuccession, 1);

	succession->loop = loop;
	succession->hand_over = hand_over;
	succession->path = g_build_filename(run_dir, "hand-over.sock", NULL);
	succession->turn = rdmad_loop_add_timer(loop, NULL, give_over, succession);
	return succession;
}

void rdmad_succession_free(RdmadSuccession *succession)
{
	if (!succession)
		return;
	rdmad_message_server_free(succession->server);
	rdmad_message_peer_close(succession->giver);
	rdmad_event_free(succession->turn);
	g_free(succession->path);
	g_free(succession);
}
