/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "hand-over"

#include "service/hand-over-private.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/socket.h>

#include "base/owned.h"

#define FREEZE_MS 10000u /* PreStartContainer takes at most nine seconds */
#define SETTLE_MS 30000u /* enough for the devices to be known */
#define DEPTH_MAX 8u

struct RdmadHandOver {
	RdmadLoop *loop;
	GQueue parts;
	GHashTable *inherited; /* name -> RdmadInheritedPart */
	gboolean under_way;
	void (*still)(gpointer data); /* NULL: no caller waits */
	gpointer still_data;
	void (*used)(gpointer data); /* NULL: already called */
	gpointer used_data;
	RdmadEvent *deadline, *settled;
};

struct RdmadHandOverPart {
	RdmadOwned owned;
	RdmadHandOver *hand_over;
	GList node;
	char *name;
	const RdmadHandOverOps *ops;
	gpointer data;
	gboolean frozen; /* freeze() was called */
	gboolean still;
};

/* ---- parts ---- */

static gboolean all_still(const RdmadHandOver *hand_over)
{
	for (const GList *l = hand_over->parts.head; l; l = l->next)
		if (!((RdmadHandOverPart *)l->data)->still)
			return FALSE;
	return TRUE;
}

static void freeze_end(gpointer data)
{
	RdmadHandOver *hand_over = data;
	void (*still)(gpointer) = hand_over->still;

	hand_over->still = NULL;
	rdmad_event_disarm(hand_over->deadline);
	if (!all_still(hand_over))
		rdmad_warn("some calls are still under way; their connections end");
	if (still)
		still(hand_over->still_data);
}

static void part_remove(gpointer data)
{
	RdmadHandOverPart *part = data;

	rdmad_owned_leave(&part->owned);
	g_queue_unlink(&part->hand_over->parts, &part->node);
	g_free(part->name);
	g_free(part);
}

RdmadHandOverPart *rdmad_hand_over_add(RdmadHandOver *hand_over, RdmadModule *owner,
				       const char *name, const RdmadHandOverOps *ops, gpointer data)
{
	RdmadHandOverPart *part = g_new0(RdmadHandOverPart, 1);

	part->hand_over = hand_over;
	part->name = g_strdup(name);
	part->ops = ops;
	part->data = data;
	part->node.data = part;
	g_queue_push_tail_link(&hand_over->parts, &part->node);
	rdmad_owned_enter(&part->owned, hand_over->loop, owner, part_remove, part);
	return part;
}

void rdmad_hand_over_part_free(RdmadHandOverPart *part)
{
	if (part)
		part_remove(part);
}

void rdmad_hand_over_part_still(RdmadHandOverPart *part)
{
	part->still = TRUE;
	if (part->hand_over->still && all_still(part->hand_over))
		rdmad_event_arm(part->hand_over->deadline, 0);
}

gboolean rdmad_hand_over_under_way(const RdmadHandOver *hand_over)
{
	return hand_over->under_way;
}

/* ---- to the successor ---- */

void rdmad_hand_over_begin(RdmadHandOver *hand_over)
{
	hand_over->under_way = TRUE;
}

static RdmadHandOverPart *part_to_freeze(const RdmadHandOver *hand_over)
{
	for (const GList *l = hand_over->parts.head; l; l = l->next) {
		RdmadHandOverPart *part = l->data;

		if (!part->frozen)
			return part;
	}
	return NULL;
}

void rdmad_hand_over_freeze(RdmadHandOver *hand_over, void (*still)(gpointer data), gpointer data)
{
	RdmadHandOverPart *part;

	hand_over->still = still;
	hand_over->still_data = data;
	rdmad_event_arm(hand_over->deadline, FREEZE_MS);
	while ((part = part_to_freeze(hand_over))) {
		part->frozen = TRUE;
		part->ops->freeze(part->data);
	}
	if (all_still(hand_over))
		rdmad_event_arm(hand_over->deadline, 0);
}

/* Returns NULL if a descriptor cannot be copied. */
static RdmadMessage *part_message(const char *name, json_t *state, const int *fds, guint n_fds)
{
	g_autoptr(RdmadMessage) message = g_new0(RdmadMessage, 1);

	message->bytes = (guint8 *)rdmad_json_dump(
		json_pack("{s:s, s:o}", "part", name, "state", state), JSON_COMPACT);
	message->size = strlen((const char *)message->bytes);
	for (; message->n_fds < n_fds; message->n_fds++) {
		message->fds[message->n_fds] = fcntl(fds[message->n_fds], F_DUPFD_CLOEXEC, 0);
		if (message->fds[message->n_fds] >= 0)
			continue;
		rdmad_warn("%s is not given: %s", name, g_strerror(errno));
		return NULL;
	}
	return g_steal_pointer(&message);
}

static void message_free(gpointer message)
{
	rdmad_message_free(message);
}

/* Takes `state` over. */
static void messages_add(GPtrArray *messages, const char *name, json_t *state, const int *fds,
			 guint n_fds)
{
	RdmadMessage *message = part_message(name, state, fds, n_fds);

	if (message)
		g_ptr_array_add(messages, message);
}

GPtrArray *rdmad_hand_over_collect(const RdmadHandOver *hand_over)
{
	GPtrArray *messages = g_ptr_array_new_with_free_func(message_free);
	GHashTableIter iter;
	gpointer name, inherited;

	for (const GList *l = hand_over->parts.head; l; l = l->next) {
		const RdmadHandOverPart *part = l->data;
		int fds[RDMAD_MESSAGE_FDS_MAX];
		guint n_fds = 0;
		json_t *state = part->still ? part->ops->give(fds, &n_fds, part->data) : NULL;

		if (state)
			messages_add(messages, part->name, state, fds, n_fds);
	}
	/* What was given and is not taken yet. */
	g_hash_table_iter_init(&iter, hand_over->inherited);
	while (g_hash_table_iter_next(&iter, &name, &inherited)) {
		const RdmadInheritedPart *part = inherited;

		messages_add(messages, name, json_incref(part->state), part->fds, part->n_fds);
	}
	return messages;
}

/* ---- from the predecessor ---- */

static void inherited_close(RdmadInheritedPart *part)
{
	for (guint i = 0; i < part->n_fds; i++)
		rdmad_clear_fd(&part->fds[i]);
}

/* The peers notice it although the predecessor may still have copies. */
void rdmad_inherited_part_free(RdmadInheritedPart *part)
{
	if (!part)
		return;
	for (guint i = 0; i < part->n_fds; i++)
		if (part->fds[i] >= 0)
			shutdown(part->fds[i], SHUT_RDWR);
	inherited_close(part);
	g_free(part->fds);
	json_decref(part->state);
	g_free(part);
}

gboolean rdmad_hand_over_put(RdmadHandOver *hand_over, RdmadMessage *message, GError **error)
{
	json_t *given =
		rdmad_json_parse((const char *)message->bytes, message->size, DEPTH_MAX, error);
	const char *name = json_string_value(json_object_get(given, "part"));
	RdmadInheritedPart *part;

	if (!given)
		return FALSE;
	if (!name) {
		json_decref(given);
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "a part without a name");
		return FALSE;
	}
	if (g_hash_table_contains(hand_over->inherited, name)) {
		json_decref(given);
		return TRUE;
	}
	part = g_new0(RdmadInheritedPart, 1);
	part->state = json_incref(json_object_get(given, "state"));
	part->n_fds = message->n_fds;
	part->fds = g_new(int, MAX(message->n_fds, 1));
	for (guint i = 0; i < message->n_fds; i++)
		part->fds[i] = rdmad_steal_fd(&message->fds[i]);
	g_hash_table_insert(hand_over->inherited, g_strdup(name), part);
	json_decref(given);
	return TRUE;
}

void rdmad_hand_over_set_used(RdmadHandOver *hand_over, void (*used)(gpointer data), gpointer data)
{
	hand_over->used = used;
	hand_over->used_data = data;
}

/* Call before a descriptor of a part is used or closed. */
static void inherited_use(RdmadHandOver *hand_over)
{
	void (*used)(gpointer) = hand_over->used;

	hand_over->used = NULL;
	if (used)
		used(hand_over->used_data);
}

void rdmad_hand_over_discard(RdmadHandOver *hand_over)
{
	inherited_use(hand_over);
	rdmad_notice("another rdmad has run since the last hand-over; nothing is taken over");
	g_hash_table_remove_all(hand_over->inherited);
}

RdmadInheritedPart *rdmad_hand_over_take(RdmadHandOver *hand_over, const char *name)
{
	gpointer key, part = NULL;

	if (g_hash_table_contains(hand_over->inherited, name))
		inherited_use(hand_over);
	if (g_hash_table_steal_extended(hand_over->inherited, name, &key, &part))
		g_free(key);
	return part;
}

void rdmad_hand_over_close_others(RdmadHandOver *hand_over, const char *prefix,
				  const char *const *names)
{
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, hand_over->inherited);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		if (!g_str_has_prefix(name, prefix) || g_strv_contains(names, name))
			continue;
		inherited_use(hand_over);
		g_hash_table_iter_remove(&iter);
	}
}

static void inherited_clear(gpointer data)
{
	RdmadHandOver *hand_over = data;

	if (g_hash_table_size(hand_over->inherited))
		inherited_use(hand_over);
	g_hash_table_remove_all(hand_over->inherited);
}

void rdmad_hand_over_settle(RdmadHandOver *hand_over)
{
	if (g_hash_table_size(hand_over->inherited))
		rdmad_event_arm(hand_over->settled, SETTLE_MS);
}

/* ---- life cycle ---- */

static void inherited_free(gpointer part)
{
	rdmad_inherited_part_free(part);
}

RdmadHandOver *rdmad_hand_over_new(RdmadLoop *loop)
{
	RdmadHandOver *hand_over = g_new0(RdmadHandOver, 1);

	hand_over->loop = loop;
	hand_over->inherited =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, inherited_free);
	hand_over->deadline = rdmad_loop_add_timer(loop, NULL, freeze_end, hand_over);
	hand_over->settled = rdmad_loop_add_timer(loop, NULL, inherited_clear, hand_over);
	return hand_over;
}

void rdmad_hand_over_free(RdmadHandOver *hand_over)
{
	GHashTableIter iter;
	gpointer part;

	if (!hand_over)
		return;
	rdmad_event_free(hand_over->deadline);
	rdmad_event_free(hand_over->settled);
	g_hash_table_iter_init(&iter, hand_over->inherited);
	while (g_hash_table_iter_next(&iter, NULL, &part))
		inherited_close(part);
	g_hash_table_unref(hand_over->inherited);
	g_free(hand_over);
}
