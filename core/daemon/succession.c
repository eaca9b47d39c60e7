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
#define PATIENCE 5000u /* ms for the successor to accept a part */

typedef struct {
	RdmadMessagePeer *peer;
	gboolean now; /* it does not wait for the end of this rdmad */
} Successor;

struct RdmadSuccession {
	RdmadLoop *loop;
	RdmadHandOver *hand_over;
	char *path;
	RdmadMessageServer *server;
	GArray *successors; /* Successor: the peers that asked, in this order */
	RdmadMessagePeer *giver;
	RdmadLockHolder first_giver;  /* the next one that is asked, until a part has come */
	gboolean has_received;	      /* a part has come */
	void (*asked)(gpointer data); /* NULL: already called, or not serving */
	gpointer asked_data;
	void (*given)(gpointer data);
	gpointer given_data;
	RdmadEvent *turn;  /* timer: `given` is called from the loop */
	RdmadEvent *begin; /* timer: the end of a successor that has asked is noticed first */
};

/* ---- the running rdmad ---- */

/* Returns the first peer that asked, which gets the parts; NULL: nobody has asked. */
static const Successor *successor(const RdmadSuccession *succession)
{
	return succession->successors->len ? &g_array_index(succession->successors, Successor, 0)
					   : NULL;
}

static gboolean is_successor(const RdmadSuccession *succession, const RdmadMessagePeer *peer)
{
	return successor(succession) && successor(succession)->peer == peer;
}

static void give_end(gpointer data)
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
	const Successor *to = successor(succession);
	g_autofree char *part =
		to ? rdmad_hand_over_next(succession->hand_over, fds, &n_fds) : NULL;

	rdmad_event_arm(succession->turn, part ? PATIENCE : 0);
	if (part && !rdmad_message_peer_send(to->peer, part, strlen(part), fds, n_fds, &error)) {
		rdmad_warn("a part is not given: %s", error->message);
		rdmad_event_arm(succession->turn, 0);
	}
}

/* Call when the successor may be another one. */
static void giving_schedule(RdmadSuccession *succession)
{
	const Successor *to = successor(succession);

	if (to && to->now && succession->asked)
		rdmad_event_arm(succession->begin, 0);
}

static void successor_asked(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	RdmadSuccession *succession = data;
	json_t *request = rdmad_json_parse((const char *)message->bytes, message->size, 4, NULL);
	const Successor asking = { peer, json_is_true(json_object_get(request, "now")) };

	json_decref(request);
	if (succession->given) {
		if (is_successor(succession, peer))
			give_next(succession);
		return;
	}
	g_array_append_val(succession->successors, asking);
	giving_schedule(succession);
}

static void giving_begin(gpointer data)
{
	RdmadSuccession *succession = data;

	if (successor(succession) && succession->asked)
		g_steal_pointer (&succession->asked)(succession->asked_data);
}

static void successor_gone(RdmadMessagePeer *peer, gpointer data)
{
	RdmadSuccession *succession = data;
	const gboolean gives = succession->given && is_successor(succession, peer);

	for (guint i = succession->successors->len; i-- > 0;)
		if (g_array_index(succession->successors, Successor, i).peer == peer)
			g_array_remove_index(succession->successors, i);
	if (gives)
		rdmad_event_arm(succession->turn, 0);
	giving_schedule(succession);
}

static const RdmadMessageOps server_ops = { successor_asked, successor_gone };

static gboolean succession_listen(RdmadSuccession *succession, GError **error)
{
	/* A peer may have two unanswered requests: responses wait until all parts are still. */
	const RdmadMessageLimits limits = { .size_max = ASK_MAX,
					    .peers_max = PEERS,
					    .unanswered_max = 2 };

	succession->server = rdmad_message_server_new(succession->loop, NULL, succession->path,
						      &limits, &server_ops, succession, error);
	return succession->server != NULL;
}

gboolean rdmad_succession_serve(RdmadSuccession *succession, void (*asked)(gpointer data),
				gpointer data, GError **error)
{
	succession->asked = asked;
	succession->asked_data = data;
	return succession_listen(succession, error);
}

gboolean rdmad_succession_keep(RdmadSuccession *succession, GError **error)
{
	if (!succession->server || successor(succession) ||
	    g_file_test(succession->path, G_FILE_TEST_EXISTS))
		return TRUE;
	g_clear_pointer(&succession->server, rdmad_message_server_free);
	return succession_listen(succession, error);
}

gboolean rdmad_succession_waits(const RdmadSuccession *succession)
{
	return successor(succession) != NULL;
}

pid_t rdmad_succession_pid(const RdmadSuccession *succession)
{
	const Successor *to = successor(succession);

	return to ? rdmad_message_peer_pid(to->peer) : 0;
}

void rdmad_succession_give(RdmadSuccession *succession, void (*given)(gpointer data), gpointer data)
{
	succession->given = given;
	succession->given_data = data;
	give_next(succession);
}

/* ---- the successor ---- */

static void part_received(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	static const char next[] = "{\"next\":true}";
	RdmadSuccession *succession = data;
	g_autoptr(GError) error = NULL;

	succession->has_received = TRUE;
	if (!rdmad_hand_over_put(succession->hand_over, message, &error))
		rdmad_warn("a part that was given is not understood: %s", error->message);
	/* A failed send is ignored: giver_gone() reports the end of the giver. */
	rdmad_message_peer_send(peer, next, strlen(next), NULL, 0, NULL);
}

static void giver_gone(RdmadMessagePeer *peer, gpointer data)
{
	RdmadSuccession *succession = data;

	succession->giver = NULL;
}

static const RdmadMessageOps peer_ops = { part_received, giver_gone };

void rdmad_succession_ask(RdmadSuccession *succession, const RdmadLockHolder *running, gboolean now)
{
	const RdmadMessageLimits limits = { .fds_max = RDMAD_MESSAGE_FDS_MAX, .unanswered_max = 2 };
	const char *request = now ? "{\"now\":true}" : "{\"now\":false}";
	int fd;

	if (succession->giver)
		return;
	/* A starting rdmad does not listen yet, and an old version never listens. */
	fd = rdmad_unix_connect(SOCK_SEQPACKET, succession->path, NULL);
	if (fd < 0)
		return;
	if (!succession->has_received)
		succession->first_giver = *running;
	succession->giver = rdmad_message_peer_new(succession->loop, NULL, fd, &limits, &peer_ops,
						   succession, NULL);
	if (succession->giver &&
	    !rdmad_message_peer_send(succession->giver, request, strlen(request), NULL, 0, NULL))
		g_clear_pointer(&succession->giver, rdmad_message_peer_close);
}

gboolean rdmad_succession_receives(const RdmadSuccession *succession)
{
	return succession->giver != NULL;
}

void rdmad_succession_judge(RdmadSuccession *succession, const RdmadLockHolder *last)
{
	if (succession->has_received && !rdmad_lock_holder_equal(&succession->first_giver, last))
		rdmad_hand_over_discard(succession->hand_over);
}

/* ---- life cycle ---- */

RdmadSuccession *rdmad_succession_new(RdmadLoop *loop, RdmadHandOver *hand_over,
				      const char *run_dir)
{
	RdmadSuccession *succession = g_new0(RdmadSuccession, 1);

	succession->loop = loop;
	succession->hand_over = hand_over;
	succession->path = g_build_filename(run_dir, "hand-over.sock", NULL);
	succession->successors = g_array_new(FALSE, FALSE, sizeof(Successor));
	succession->turn = rdmad_loop_add_timer(loop, NULL, give_end, succession);
	succession->begin = rdmad_loop_add_timer(loop, NULL, giving_begin, succession);
	return succession;
}

void rdmad_succession_free(RdmadSuccession *succession)
{
	if (!succession)
		return;
	rdmad_message_server_free(succession->server);
	rdmad_message_peer_close(succession->giver);
	rdmad_event_free(succession->turn);
	rdmad_event_free(succession->begin);
	g_array_unref(succession->successors);
	g_free(succession->path);
	g_free(succession);
}
