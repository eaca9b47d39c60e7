/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "hand-over"

#include "daemon/succession.h"

#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/unix-socket.h"
#include "service/hand-over-private.h"

#define ASK_MAX	  16384u /* the path of a configuration */
#define PEERS	  16u
#define DEPTH_MAX 8u
#define PATIENCE  5000u /* ms for the successor to accept a part */

/* Responses wait until all parts are still; "given" and "used" have none. */
static const RdmadMessageLimits limits = { .size_max = RDMAD_MESSAGE_SIZE_MAX,
					   .fds_max = RDMAD_MESSAGE_FDS_MAX,
					   .unanswered_max = 8 };

typedef struct {
	RdmadMessagePeer *peer;
	RdmadInstance *who;
	gboolean now; /* it does not wait for the end of this rdmad */
} Successor;

struct RdmadSuccession {
	char *path;
	/* kept between two lives */
	int partner;	 /* the connection to the successor; -1: none */
	GPtrArray *kept; /* RdmadMessage: copies of the parts that it has not used yet */
	RdmadLockHolder gave_as, gave_to; /* this process in its life before, and the successor */
	/* of a life */
	RdmadLoop *loop;
	RdmadHandOver *hand_over;
	const RdmadInstance *self;
	RdmadPlace *place;
	RdmadMessageServer *server;
	GPtrArray *successors; /* Successor: the peers that asked, in this order */
	RdmadMessagePeer *to;  /* the successor that is given to */
	guint next;	       /* the part of `kept` that it gets next */
	RdmadMessagePeer *giver;
	RdmadLockHolder first_giver; /* the next one that is asked, until a part has come */
	gboolean has_received;	     /* a part has come */
	gboolean giver_done;	     /* it has given all parts, and is a successor */
	RdmadInstance *other;
	const RdmadSuccessionOps *ops; /* NULL: not serving */
	gpointer ops_data;
	gboolean has_begun; /* asked() was called */
	void (*given)(gpointer data);
	gpointer given_data;
	RdmadEvent *turn;  /* timer: `given` is called from the loop */
	RdmadEvent *begin; /* timer: the end of a successor that has asked is noticed first */
};

/* Takes `value` over. */
static gboolean peer_tell(RdmadMessagePeer *peer, const char *what, json_t *value, GError **error)
{
	g_autofree char *text = rdmad_json_dump(json_pack("{s:o}", what, value), JSON_COMPACT);

	return rdmad_message_peer_send(peer, text, strlen(text), NULL, 0, error);
}

/* ---- the running rdmad ---- */

static Successor *successor_find(const RdmadSuccession *succession, const RdmadMessagePeer *peer)
{
	for (guint i = 0; i < succession->successors->len; i++) {
		Successor *successor = succession->successors->pdata[i];

		if (successor->peer == peer)
			return successor;
	}
	return NULL;
}

/* Returns the one that does not wait, else the first of this instance, else the first. */
static const Successor *successor_best(const RdmadSuccession *succession)
{
	const Successor *same = NULL;

	for (guint i = 0; i < succession->successors->len; i++) {
		const Successor *successor = succession->successors->pdata[i];

		if (successor->now)
			return successor;
		if (!same && rdmad_instance_equal(successor->who, succession->self))
			same = successor;
	}
	return same ?: succession->successors->len ? succession->successors->pdata[0] : NULL;
}

static void successor_free(gpointer data)
{
	Successor *successor = data;

	rdmad_instance_free(successor->who);
	g_free(successor);
}

/* It gets nothing. */
static void successor_close(RdmadSuccession *succession, RdmadMessagePeer *peer)
{
	g_ptr_array_remove(succession->successors, successor_find(succession, peer));
	if (peer == succession->giver)
		succession->giver = NULL;
	succession->to = NULL;
	rdmad_message_peer_close(peer);
}

static void give_end(gpointer data)
{
	RdmadSuccession *succession = data;
	void (*given)(gpointer) = succession->given;

	succession->given = NULL;
	if (succession->to && succession->next < succession->kept->len) {
		rdmad_warn("the successor does not take what it is given");
		successor_close(succession, succession->to);
	}
	if (given)
		given(succession->given_data);
}

static void give_next(RdmadSuccession *succession)
{
	const RdmadMessage *part = succession->to && succession->next < succession->kept->len
					   ? succession->kept->pdata[succession->next++]
					   : NULL;
	g_autoptr(GError) error = NULL;

	rdmad_event_arm(succession->turn, part ? PATIENCE : 0);
	if (part && !rdmad_message_peer_send(succession->to, part->bytes, part->size, part->fds,
					     part->n_fds, &error)) {
		rdmad_warn("a part is not given: %s", error->message);
		succession->next--;
		rdmad_event_arm(succession->turn, 0);
	}
}

/* Call when the successor may be another one. */
static void giving_schedule(RdmadSuccession *succession)
{
	const Successor *to = successor_best(succession);

	if (to && to->now && succession->ops && !succession->has_begun)
		rdmad_event_arm(succession->begin, 0);
}

static void giving_begin(gpointer data)
{
	RdmadSuccession *succession = data;
	const Successor *to = successor_best(succession);

	if (!to || !to->now || succession->has_begun)
		return;
	succession->has_begun = TRUE;
	succession->ops->asked(succession->ops_data);
}

static void others_changed(RdmadSuccession *succession)
{
	if (succession->ops)
		succession->ops->others_changed(succession->ops_data);
}

/* Takes `who` over. */
static void successor_add(RdmadSuccession *succession, RdmadMessagePeer *peer, RdmadInstance *who,
			  gboolean now)
{
	Successor *successor = g_new(Successor, 1);

	*successor = (Successor){ peer, who, now };
	g_ptr_array_add(succession->successors, successor);
	if (!rdmad_instance_equal(who, succession->self))
		others_changed(succession);
	giving_schedule(succession);
}

static void successor_remove(RdmadSuccession *succession, Successor *successor)
{
	const gboolean is_other = !rdmad_instance_equal(successor->who, succession->self);

	g_ptr_array_remove(succession->successors, successor);
	if (is_other)
		others_changed(succession);
	giving_schedule(succession);
}

/* ---- messages ---- */

static void ask_received(RdmadSuccession *succession, RdmadMessagePeer *peer, const json_t *request,
			 RdmadMessage *message)
{
	g_autoptr(RdmadInstance) who = rdmad_instance_from_json(json_object_get(request, "from"));
	const gboolean any = json_is_true(json_object_get(request, "any"));
	const gboolean now = json_is_true(json_object_get(request, "now"));
	gboolean refused;

	if (!who || successor_find(succession, peer))
		return;
	refused = !any && !rdmad_instance_equal(who, succession->self);
	if (refused)
		peer_tell(peer, "refused", rdmad_instance_to_json(succession->self), NULL);
	successor_add(succession, peer, g_steal_pointer(&who), now && !refused);
}

static void next_received(RdmadSuccession *succession, RdmadMessagePeer *peer,
			  const json_t *request, RdmadMessage *message)
{
	if (succession->given && peer == succession->to)
		give_next(succession);
}

static void part_received(RdmadSuccession *succession, RdmadMessagePeer *peer, const json_t *part,
			  RdmadMessage *message)
{
	g_autoptr(GError) error = NULL;

	if (peer != succession->giver)
		return;
	succession->has_received = TRUE;
	if (!rdmad_hand_over_put(succession->hand_over, message, &error))
		rdmad_warn("a part that was given is not understood: %s", error->message);
	/* A failed send is ignored: peer_gone() reports the end of the giver. */
	peer_tell(peer, "next", json_true(), NULL);
}

static void other_note(RdmadSuccession *succession, const RdmadInstance *who)
{
	if (rdmad_instance_equal(who, succession->self))
		return;
	rdmad_instance_free(succession->other);
	succession->other = rdmad_instance_new(who->name, who->config, &who->holder);
}

static void given_received(RdmadSuccession *succession, RdmadMessagePeer *peer,
			   const json_t *object, RdmadMessage *message)
{
	g_autoptr(RdmadInstance) who = rdmad_instance_from_json(json_object_get(object, "given"));

	if (peer != succession->giver || succession->giver_done || !who)
		return;
	succession->giver_done = TRUE;
	rdmad_place_adopt(succession->place, message->fds, message->n_fds);
	other_note(succession, who);
	if (!json_is_true(json_object_get(object, "ends")))
		successor_add(succession, peer, g_steal_pointer(&who), FALSE);
}

static void refused_received(RdmadSuccession *succession, RdmadMessagePeer *peer,
			     const json_t *message, RdmadMessage *unused)
{
	g_autoptr(RdmadInstance) by = rdmad_instance_from_json(json_object_get(message, "refused"));
	g_autofree char *other = by ? rdmad_instance_text(by) : NULL;
	g_autofree char *self = rdmad_instance_text(succession->self);

	if (peer != succession->giver || !by)
		return;
	other_note(succession, by);
	rdmad_err(
		"rdmad of %s has this node, and does not give over to %s; this one waits until the "
		"other ends: remove one of them from the node, or use --any-instance",
		other, self);
}

static void used_received(RdmadSuccession *succession, RdmadMessagePeer *peer,
			  const json_t *message, RdmadMessage *unused)
{
	if (peer == succession->giver)
		g_clear_pointer(&succession->kept, g_ptr_array_unref);
}

static void peer_received(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	static const struct {
		const char *what;
		void (*receive)(RdmadSuccession *succession, RdmadMessagePeer *peer,
				const json_t *object, RdmadMessage *message);
	} kinds[] = {
		{ "now", ask_received },	 { "next", next_received },
		{ "part", part_received },	 { "given", given_received },
		{ "refused", refused_received }, { "used", used_received },
	};
	json_t *object =
		rdmad_json_parse((const char *)message->bytes, message->size, DEPTH_MAX, NULL);

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (!json_object_get(object, kinds[i].what))
			continue;
		kinds[i].receive(data, peer, object, message);
		break;
	}
	json_decref(object);
}

static void peer_gone(RdmadMessagePeer *peer, gpointer data)
{
	RdmadSuccession *succession = data;
	Successor *successor = successor_find(succession, peer);

	if (peer == succession->giver)
		succession->giver = NULL;
	if (peer == succession->to) {
		succession->to = NULL;
		rdmad_event_arm(succession->turn, 0);
	}
	if (successor)
		successor_remove(succession, successor);
}

static const RdmadMessageOps peer_ops = { peer_received, peer_gone };

/* ---- the running rdmad: its interface ---- */

static gboolean succession_listen(RdmadSuccession *succession, GError **error)
{
	RdmadMessageLimits of_server = limits;

	of_server.size_max = ASK_MAX;
	of_server.peers_max = PEERS;
	of_server.fds_max = 0;
	succession->server = rdmad_message_server_new(succession->loop, NULL, succession->path,
						      &of_server, &peer_ops, succession, error);
	return succession->server != NULL;
}

gboolean rdmad_succession_serve(RdmadSuccession *succession, const RdmadSuccessionOps *ops,
				gpointer data, GError **error)
{
	succession->ops = ops;
	succession->ops_data = data;
	others_changed(succession);
	return succession_listen(succession, error);
}

/* The successors of the old socket ask again at the new one. */
gboolean rdmad_succession_keep(RdmadSuccession *succession, GError **error)
{
	if (!succession->server || succession->has_begun ||
	    g_file_test(succession->path, G_FILE_TEST_EXISTS))
		return TRUE;
	for (guint i = succession->successors->len; i-- > 0;) {
		Successor *successor = succession->successors->pdata[i];

		if (successor->peer != succession->giver)
			successor_remove(succession, successor);
	}
	g_clear_pointer(&succession->server, rdmad_message_server_free);
	return succession_listen(succession, error);
}

const RdmadInstance *rdmad_succession_next(const RdmadSuccession *succession)
{
	const Successor *to = successor_best(succession);

	return to ? to->who : NULL;
}

GPtrArray *rdmad_succession_others(const RdmadSuccession *succession)
{
	GPtrArray *others = g_ptr_array_new();

	for (guint i = 0; i < succession->successors->len; i++) {
		const Successor *successor = succession->successors->pdata[i];

		if (!rdmad_instance_equal(successor->who, succession->self))
			g_ptr_array_add(others, successor->who);
	}
	return others;
}

void rdmad_succession_give(RdmadSuccession *succession, void (*given)(gpointer data), gpointer data)
{
	const Successor *to = successor_best(succession);

	succession->has_begun = TRUE;
	succession->given = given;
	succession->given_data = data;
	succession->kept = rdmad_hand_over_collect(succession->hand_over);
	succession->next = 0;
	succession->to = to ? to->peer : NULL;
	succession->gave_as = succession->self->holder;
	succession->gave_to = to ? to->who->holder : (RdmadLockHolder){ 0 };
	give_next(succession);
}

/* ---- the successor: its interface ---- */

void rdmad_succession_ask(RdmadSuccession *succession, const RdmadLockHolder *running, gboolean now,
			  gboolean any)
{
	g_autofree char *request = NULL;
	int fd;

	if (succession->giver)
		return;
	/* A starting rdmad does not listen yet. */
	fd = rdmad_unix_connect(SOCK_SEQPACKET, succession->path, NULL);
	if (fd < 0)
		return;
	if (!succession->has_received)
		succession->first_giver = *running;
	succession->giver_done = FALSE;
	succession->giver = rdmad_message_peer_new(succession->loop, NULL, fd, &limits, &peer_ops,
						   succession, NULL);
	request = rdmad_json_dump(json_pack("{s:b, s:b, s:o}", "now", now, "any", any, "from",
					    rdmad_instance_to_json(succession->self)),
				  JSON_COMPACT);
	if (succession->giver &&
	    !rdmad_message_peer_send(succession->giver, request, strlen(request), NULL, 0, NULL))
		g_clear_pointer(&succession->giver, rdmad_message_peer_close);
}

gboolean rdmad_succession_is_known(const RdmadSuccession *succession)
{
	return succession->giver && !succession->giver_done;
}

gboolean rdmad_succession_receives(const RdmadSuccession *succession)
{
	return succession->giver && !succession->giver_done;
}

static void kept_continue(RdmadSuccession *succession, const RdmadLockHolder *last)
{
	const gboolean is_valid = rdmad_lock_holder_equal(&succession->gave_as, last) ||
				  rdmad_lock_holder_equal(&succession->gave_to, last);

	for (guint i = 0; is_valid && i < succession->kept->len; i++)
		rdmad_hand_over_put(succession->hand_over, succession->kept->pdata[i], NULL);
	g_clear_pointer(&succession->kept, g_ptr_array_unref);
}

void rdmad_succession_judge(RdmadSuccession *succession, const RdmadLockHolder *last)
{
	if (succession->has_received && !rdmad_lock_holder_equal(&succession->first_giver, last))
		rdmad_hand_over_discard(succession->hand_over);
	if (succession->kept)
		kept_continue(succession, last);
}

const RdmadInstance *rdmad_succession_other(const RdmadSuccession *succession)
{
	return succession->other;
}

/* ---- life cycle ---- */

/* The giver closes its copies before a byte of the parts is read or written. */
static void parts_used(gpointer data)
{
	RdmadSuccession *succession = data;

	if (succession->giver)
		peer_tell(succession->giver, "used", json_true(), NULL);
}

RdmadSuccession *rdmad_succession_new(const char *run_dir)
{
	RdmadSuccession *succession = g_new0(RdmadSuccession, 1);

	succession->path = g_build_filename(run_dir, "hand-over.sock", NULL);
	succession->partner = -1;
	return succession;
}

void rdmad_succession_attach(RdmadSuccession *succession, RdmadLoop *loop, RdmadHandOver *hand_over,
			     const RdmadInstance *self, RdmadPlace *place)
{
	succession->loop = loop;
	succession->hand_over = hand_over;
	succession->self = self;
	succession->place = place;
	succession->successors = g_ptr_array_new_with_free_func(successor_free);
	succession->turn = rdmad_loop_add_timer(loop, NULL, give_end, succession);
	succession->begin = rdmad_loop_add_timer(loop, NULL, giving_begin, succession);
	rdmad_hand_over_set_used(hand_over, parts_used, succession);
	if (succession->partner < 0) {
		/* It may have the lock before this life, and cannot say that it used the parts. */
		succession->gave_to = (RdmadLockHolder){ 0 };
		return;
	}
	succession->first_giver = succession->gave_to;
	succession->giver = rdmad_message_peer_new(loop, NULL, rdmad_steal_fd(&succession->partner),
						   &limits, &peer_ops, succession, NULL);
}

void rdmad_succession_detach(RdmadSuccession *succession)
{
	if (!succession->loop)
		return;
	if (succession->to) {
		if (succession->to == succession->giver)
			succession->giver = NULL;
		succession->partner = rdmad_message_peer_release(succession->to);
	}
	succession->to = NULL;
	g_clear_pointer(&succession->giver, rdmad_message_peer_close);
	g_clear_pointer(&succession->server, rdmad_message_server_free);
	g_clear_pointer(&succession->successors, g_ptr_array_unref);
	g_clear_pointer(&succession->turn, rdmad_event_free);
	g_clear_pointer(&succession->begin, rdmad_event_free);
	g_clear_pointer(&succession->other, rdmad_instance_free);
	succession->has_received = succession->giver_done = FALSE;
	succession->has_begun = FALSE;
	succession->ops = NULL;
	succession->given = NULL;
	succession->loop = NULL;
}

void rdmad_succession_pass(RdmadSuccession *succession, const RdmadInstance *self,
			   const RdmadPlace *place, gboolean ends)
{
	g_autofree char *text = NULL;
	int fds[RDMAD_PLACE_LOCKS];
	const guint n_fds = rdmad_place_locks(place, fds);

	if (succession->partner < 0)
		return;
	text = rdmad_json_dump(
		json_pack("{s:o, s:b}", "given", rdmad_instance_to_json(self), "ends", ends),
		JSON_COMPACT);
	/* A successor that does not read it sees the end of the connection. */
	if (!rdmad_message_send(succession->partner, text, strlen(text), fds, n_fds, NULL))
		rdmad_clear_fd(&succession->partner);
}

void rdmad_succession_free(RdmadSuccession *succession)
{
	if (!succession)
		return;
	rdmad_succession_detach(succession);
	rdmad_clear_fd(&succession->partner);
	g_clear_pointer(&succession->kept, g_ptr_array_unref);
	g_free(succession->path);
	g_free(succession);
}
