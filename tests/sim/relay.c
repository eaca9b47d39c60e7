/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <fcntl.h>
#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/loop.h>
#include <rdmad/message-socket.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/unix-socket.h"
#include "clock.h"
#include "daemon/lock.h"
#include "node.h"

#define GIVERS	 2u
#define POLL_MS	 20u
#define LIMIT_MS 10000u /* for the next life to ask */
#define DEPTH	 8u
#define SELF_PID 1
#define SELF_ID	 0x5e1f

/* The pause before a part is asked for, or given.  The last is longer than rdmad waits for its
 * successor. */
static const guint pauses_ms[] = { 0, 50, 1000, 6000 };
static const struct {
	guint ms; /* 0: there is no third rdmad */
	gboolean ends;
} thirds[] = { { 0 }, { POLL_MS }, { 4000 }, { POLL_MS, TRUE }, { 4000, TRUE } };
static const guint stop_after_ms[] = { 0, 100, 3000 };

typedef enum {
	RELAY_IDLE,
	RELAY_RECEIVES, /* of the life that runs */
	RELAY_SERVES,	/* has the locks of the process that runs, which waits */
	RELAY_RETURNS,	/* gives the parts back to it */
	RELAY_ENDS,	/* while a third rdmad runs */
	RELAY_THIRD,	/* until the life that runs listens */
	RELAY_HOLDS,	/* the lock, before it listens */
	RELAY_GIVES,
} State;

static struct {
	RdmadLoop *loop;
	const RelayOps *ops;
	Decisions *decisions;
	char *socket, *lock_path;
	State state;
	RdmadMessagePeer *giver;
	GPtrArray *parts[GIVERS]; /* of RdmadMessage; NULL: there was no such giver */
	guint giving, next;	  /* the giver that the relay is now, and its next part */
	int lock, state_lock;	  /* -1: not held */
	gboolean has_used;	  /* the parts, in RELAY_SERVES */
	char *holders[GIVERS]; /* what the givers wrote into its file; NULL: there was no third */
	RdmadMessageServer *server;
	RdmadMessagePeer *successor;
	RdmadEvent *turn, *stop, *limit;
} relay;

/* ---- the end ---- */

static guint parts_received(void)
{
	guint n = 0;

	for (guint i = 0; i < GIVERS && relay.parts[i]; i++)
		n += relay.parts[i]->len;
	return n;
}

static void lock_take(void)
{
	relay.lock = open(relay.lock_path, O_RDWR | O_CLOEXEC);
	g_assert_cmpint(flock(relay.lock, LOCK_EX | LOCK_NB), ==, 0);
}

/* The file has the giver that the relay is, or that was the last one. */
static void lock_name(guint giver)
{
	const char *holder = relay.holders[giver];
	const gsize length = strlen(holder);

	g_assert_cmpint(pwrite(relay.lock, holder, length, 0), ==, (gssize)length);
	g_assert_cmpint(ftruncate(relay.lock, (off_t)length), ==, 0);
}

static void lock_release(void)
{
	if (relay.lock < 0)
		return;
	lock_name(relay.holders[1] ? 1 : 0);
	rdmad_clear_fd(&relay.lock);
	rdmad_clear_fd(&relay.state_lock);
}

void relay_drop(void)
{
	rdmad_event_disarm(relay.turn);
	rdmad_event_disarm(relay.stop);
	rdmad_event_disarm(relay.limit);
	g_clear_pointer(&relay.giver, rdmad_message_peer_close);
	g_clear_pointer(&relay.server, rdmad_message_server_free);
	relay.successor = NULL;
	for (guint i = 0; i < GIVERS; i++)
		g_clear_pointer(&relay.parts[i], g_ptr_array_unref);
	relay.giving = relay.next = 0;
	relay.has_used = FALSE;
	lock_release();
	for (guint i = 0; i < GIVERS; i++)
		g_clear_pointer(&relay.holders[i], g_free);
	relay.state = RELAY_IDLE;
}

static void relay_fail(const char *what)
{
	decisions_note(relay.decisions, "relay %s %" G_GINT64_FORMAT, what, clock_now_us());
	relay.ops->failed();
	relay_drop();
}

static void limit_passed(gpointer data)
{
	relay_fail("waits for nobody");
}

gboolean relay_asks(void)
{
	return relay.state == RELAY_RECEIVES;
}

gboolean relay_holds(void)
{
	return relay.state >= RELAY_THIRD;
}

static void giver_end(void);

/* The first of two givers ends before the third rdmad, which gives afterwards. */
static void process_end(void)
{
	if (relay.state == RELAY_GIVES && relay.giving + 1 < GIVERS &&
	    relay.parts[relay.giving + 1])
		giver_end();
	else
		relay_fail("ends");
}

/* ---- the successor of the life that runs ---- */

/* Chooses how long this process takes for its next step, or that it ends instead. */
static void take_time(void)
{
	const guint how =
		decide_rarely(relay.decisions, DECIDE_RELAY, 12, G_N_ELEMENTS(pauses_ms) + 1);

	if (how == G_N_ELEMENTS(pauses_ms)) {
		process_end();
		return;
	}
	if (how == G_N_ELEMENTS(pauses_ms) - 1)
		relay.ops->failed();
	rdmad_event_arm(relay.turn, pauses_ms[how]);
}

static GPtrArray *parts_of_giver(void)
{
	guint i = 0;

	while (i + 1 < GIVERS && relay.parts[i + 1])
		i++;
	return relay.parts[i];
}

static void part_keep(RdmadMessage *message)
{
	RdmadMessage *part = g_memdup2(message, sizeof(*message));

	part->bytes = g_memdup2(message->bytes, message->size);
	message->n_fds = 0;
	g_ptr_array_add(parts_of_giver(), part);
}

static void part_came(const char *name, RdmadMessage *message)
{
	decisions_note(relay.decisions, "relay has %s %" G_GINT64_FORMAT, name, clock_now_us());
	relay.ops->received(name);
	part_keep(message);
	take_time();
}

static void locks_came(RdmadMessage *message)
{
	g_assert_cmpuint(message->n_fds, ==, 2);
	relay.lock = rdmad_steal_fd(&message->fds[0]);
	relay.state_lock = rdmad_steal_fd(&message->fds[1]);
	/* Of the parts of two only those of the last are valid. */
	if (relay.parts[1]) {
		g_ptr_array_unref(relay.parts[0]);
		relay.parts[0] = g_steal_pointer(&relay.parts[1]);
	}
	for (guint i = 0; i < GIVERS; i++)
		g_clear_pointer(&relay.holders[i], g_free);
	relay.holders[0] = g_strdup_printf("%d\n%016x\n", SELF_PID, SELF_ID);
	lock_name(0);
	rdmad_event_disarm(relay.stop);
	if (relay.state == RELAY_HOLDS) /* its process has ended */
		return;
	relay.state = RELAY_SERVES;
	relay.ops->passed();
	decisions_note(relay.decisions, "relay serves %" G_GINT64_FORMAT, clock_now_us());
	rdmad_event_arm(relay.turn, POLL_MS);
}

static void return_next(void);

static void message_came(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	json_t *object = rdmad_json_parse((const char *)message->bytes, message->size, DEPTH, NULL);
	const char *part = json_string_value(json_object_get(object, "part"));

	if (part)
		part_came(part, message);
	else if (json_object_get(object, "given"))
		locks_came(message);
	else if (json_object_get(object, "next") && relay.state == RELAY_RETURNS)
		return_next();
	json_decref(object);
}

/* The next life finds the lock free if there is nothing to give. */
static void giver_gone(RdmadMessagePeer *peer, gpointer data)
{
	relay.giver = NULL;
	rdmad_event_disarm(relay.stop);
	/* relay_life_ended() follows. */
	if (relay.state == RELAY_SERVES || relay.state == RELAY_RETURNS)
		return;
	if (!parts_received())
		relay_drop();
	else if (relay.state == RELAY_HOLDS)
		take_time();
	else if (relay.state == RELAY_RECEIVES)
		rdmad_event_disarm(relay.turn);
	else if (!rdmad_event_armed(relay.turn))
		rdmad_event_arm(relay.turn, POLL_MS);
}

static json_t *self_json(void)
{
	return json_pack("{s:s, s:i, s:i}", "instance", node_instance(), "pid", SELF_PID, "id",
			 SELF_ID);
}

static char *request_text(gboolean now)
{
	return rdmad_json_dump(json_pack("{s:b, s:o}", "now", now, "from", self_json()),
			       JSON_COMPACT);
}

static gboolean giver_ask(gboolean now)
{
	static const RdmadMessageOps ops = { message_came, giver_gone };
	const RdmadMessageLimits limits = { .fds_max = RDMAD_MESSAGE_FDS_MAX, .unanswered_max = 8 };
	g_autofree char *request = request_text(now);
	const int fd = rdmad_unix_connect(SOCK_SEQPACKET, relay.socket, NULL);

	if (fd < 0)
		return FALSE;
	relay.giver = rdmad_message_peer_new(relay.loop, NULL, fd, &limits, &ops, NULL, NULL);
	g_assert_true(
		rdmad_message_peer_send(relay.giver, request, strlen(request), NULL, 0, NULL));
	if (now)
		relay.ops->stops();
	relay.state = RELAY_RECEIVES;
	return TRUE;
}

static void part_free(gpointer part)
{
	rdmad_message_free(part);
}

static void giver_add(void)
{
	relay.parts[relay.parts[0] ? 1 : 0] = g_ptr_array_new_with_free_func(part_free);
}

gboolean relay_ask(gboolean now)
{
	if (relay.state != RELAY_IDLE || !giver_ask(now))
		return FALSE;
	giver_add();
	if (!now)
		rdmad_event_arm(relay.stop, stop_after_ms[decide(relay.decisions, DECIDE_RELAY,
								 G_N_ELEMENTS(stop_after_ms))]);
	return TRUE;
}

static void stop_giver(gpointer data)
{
	relay.ops->stops();
	life_stop();
}

/* ---- while the process that runs waits ---- */

typedef enum {
	SERVED_WELL,	/* it is stopped, and gives back */
	SERVED_NOTHING, /* it ends before it uses what it was given */
	SERVED_BADLY,	/* it ends afterwards */
	SERVED_ON,	/* the process that waits is stopped, and another one follows */
	N_SERVED,
} Served;

static void send_to_giver(const char *text, const int *fds, guint n_fds)
{
	if (relay.giver)
		rdmad_message_peer_send(relay.giver, text, strlen(text), fds, n_fds, NULL);
}

static void use(void)
{
	relay.has_used = TRUE;
	send_to_giver("{\"used\":true}", NULL, 0);
}

/* All is given back, and the locks are. */
static void return_end(void)
{
	const int fds[] = { relay.lock, relay.state_lock };
	g_autofree char *text =
		rdmad_json_dump(json_pack("{s:o}", "given", self_json()), JSON_COMPACT);

	send_to_giver(text, fds, G_N_ELEMENTS(fds));
	relay_drop();
}

static void return_next(void)
{
	const GPtrArray *parts = relay.parts[0];
	const RdmadMessage *part = relay.next < parts->len ? parts->pdata[relay.next++] : NULL;

	if (part)
		rdmad_message_peer_send(relay.giver, part->bytes, part->size, part->fds,
					part->n_fds, NULL);
	else
		return_end();
}

static void serve_end(void)
{
	const Served how = (Served)decide(relay.decisions, DECIDE_RELAY, N_SERVED);

	decisions_note(relay.decisions, "relay served %d %" G_GINT64_FORMAT, (int)how,
		       clock_now_us());
	if (!relay.giver)
		return;
	if (how == SERVED_NOTHING) {
		relay_drop();
		return;
	}
	if (how != SERVED_ON || decide(relay.decisions, DECIDE_RELAY, 2))
		use();
	if (how == SERVED_ON) {
		relay.ops->stops();
		life_stop();
	} else if (how == SERVED_BADLY) {
		relay_fail("ends, and was served");
	} else {
		relay.state = RELAY_RETURNS;
		relay.next = 0;
		return_next();
	}
}

/* ---- between two lives ---- */

static void third_look(void)
{
	if (!giver_ask(TRUE)) {
		rdmad_event_arm(relay.turn, POLL_MS);
		return;
	}
	giver_add();
}

static void hold(void)
{
	/* They may be in a message that is not read yet. */
	if (!rdmad_lock_is_held(relay.lock_path))
		lock_take();
	relay.state = RELAY_HOLDS;
	rdmad_event_arm(relay.limit, LIMIT_MS);
	if (!relay.giver)
		take_time();
}

/* Its successor continues what the relay has. */
static void life_that_waited_ended(LifeEnd how)
{
	g_clear_pointer(&relay.giver, rdmad_message_peer_close);
	if (how != LIFE_STOPPED)
		relay.ops->failed();
	relay.state = RELAY_HOLDS;
	rdmad_event_arm(relay.limit, LIMIT_MS);
	take_time();
}

/* Unread parts of the life that has ended may still come, before giver_gone(). */
void relay_life_ended(LifeEnd how)
{
	gboolean is_third;
	guint third;

	if (relay.state == RELAY_SERVES || relay.state == RELAY_RETURNS) {
		life_that_waited_ended(how);
		return;
	}
	if (relay.state != RELAY_RECEIVES && relay.state != RELAY_THIRD)
		return;
	if (how != LIFE_STOPPED)
		relay.ops->failed();
	is_third = relay.holders[0] != NULL;
	g_assert_true(g_file_get_contents(relay.lock_path, &relay.holders[is_third], NULL, NULL));
	third = is_third || rdmad_lock_is_held(relay.lock_path)
			? 0
			: decide_rarely(relay.decisions, DECIDE_RELAY, 8, G_N_ELEMENTS(thirds));
	if (!third) {
		hold();
		return;
	}
	relay.ops->failed();
	relay.state = thirds[third].ends ? RELAY_ENDS : RELAY_THIRD;
	rdmad_event_arm(relay.turn, thirds[third].ms);
}

/* ---- the predecessor of the next life ---- */

static void successor_asked(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	relay.successor = peer;
	rdmad_event_disarm(relay.limit);
	take_time();
}

static void successor_gone(RdmadMessagePeer *peer, gpointer data)
{
	if (relay.successor != peer)
		return;
	relay.successor = NULL;
	rdmad_event_arm(relay.turn, 0);
}

static void listen_now(void)
{
	static const RdmadMessageOps ops = { successor_asked, successor_gone };
	static const RdmadMessageLimits limits = { .unanswered_max = 2 };
	g_autoptr(GError) error = NULL;

	relay.server = rdmad_message_server_new(relay.loop, NULL, relay.socket, &limits, &ops, NULL,
						&error);
	g_assert_no_error(error);
	lock_name(relay.giving);
	relay.state = RELAY_GIVES;
	relay.next = 0;
	rdmad_event_arm(relay.limit, LIMIT_MS);
}

/* All is given.  The process of the last giver ends, and with it the lock. */
static void giver_end(void)
{
	g_clear_pointer(&relay.server, rdmad_message_server_free);
	relay.successor = NULL;
	if (++relay.giving < GIVERS && relay.parts[relay.giving])
		listen_now();
	else
		relay_drop();
}

static void give_next(void)
{
	const GPtrArray *parts = relay.parts[relay.giving];
	const RdmadMessage *part = relay.next < parts->len ? parts->pdata[relay.next++] : NULL;

	if (!relay.successor)
		relay_fail("has lost its successor");
	else if (!part)
		giver_end();
	else if (!rdmad_message_peer_send(relay.successor, part->bytes, part->size, part->fds,
					  part->n_fds, NULL))
		relay_fail("cannot give");
}

/* ---- turns ---- */

static void ask_next(void)
{
	static const char next[] = "{\"next\":true}";

	/* giver_gone() follows a failure. */
	rdmad_message_peer_send(relay.giver, next, strlen(next), NULL, 0, NULL);
}

static void turn(gpointer data)
{
	switch (relay.state) {
	case RELAY_RECEIVES:
		ask_next();
		break;
	case RELAY_THIRD:
		if (relay.giver)
			ask_next();
		else
			third_look();
		break;
	case RELAY_HOLDS:
		if (relay.giver)
			ask_next();
		else
			listen_now();
		break;
	case RELAY_SERVES:
		serve_end();
		break;
	case RELAY_RETURNS:
		break;
	case RELAY_ENDS:
		relay_fail("ends while a third runs");
		break;
	case RELAY_GIVES:
		give_next();
		break;
	case RELAY_IDLE:
		break;
	}
}

/* ---- life cycle ---- */

void relay_begin(RdmadLoop *loop, const RelayOps *ops, Decisions *decisions)
{
	relay.loop = loop;
	relay.ops = ops;
	relay.decisions = decisions;
	relay.socket = g_build_filename(node_run_dir(), "hand-over.sock", NULL);
	relay.lock_path = g_build_filename(node_run_dir(), "rdmad.lock", NULL);
	relay.lock = relay.state_lock = -1;
	relay.turn = rdmad_loop_add_timer(loop, NULL, turn, NULL);
	relay.stop = rdmad_loop_add_timer(loop, NULL, stop_giver, NULL);
	relay.limit = rdmad_loop_add_timer(loop, NULL, limit_passed, NULL);
}

void relay_end(void)
{
	relay_drop();
	g_clear_pointer(&relay.turn, rdmad_event_free);
	g_clear_pointer(&relay.stop, rdmad_event_free);
	g_clear_pointer(&relay.limit, rdmad_event_free);
	g_free(relay.socket);
	g_free(relay.lock_path);
}
