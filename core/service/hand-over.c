/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "hand-over"

#include "service/hand-over-private.h"

#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>

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
	gboolean still, given;
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

char *rdmad_hand_over_next(RdmadHandOver *hand_over, int *fds, guint *n_fds)
{
	for (GList *l = hand_over->parts.head; l; l = l->next) {
		RdmadHandOverPart *part = l->data;
		json_t *state;

		if (part->given || !part->still)
			continue;
		part->given = TRUE;
		state = part->ops->give(fds, n_fds, part->data);
		if (!state)
			continue;
		return rdmad_json_dump(json_pack("{s:s, s:o}", "part", part->name, "state", state),
				       JSON_COMPACT);
	}
	return NULL;
}

/* ---- from the predecessor ---- */

void rdmad_inherited_part_free(RdmadInheritedPart *part)
{
	if (!part)
		return;
	for (guint i = 0; i < part->n_fds; i++)
		rdmad_clear_fd(&part->fds[i]);
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
	part = g_new0(RdmadInheritedPart, 1);
	part->state = json_incref(json_object_get(given, "state"));
	part->n_fds = message->n_fds;
	part->fds = g_new(int, MAX(message->n_fds, 1));
	for (guint i = 0; i < message->n_fds; i++)
		part->fds[i] = rdmad_steal_fd(&message->fds[i]);
	g_hash_table_replace(hand_over->inherited, g_strdup(name), part);
	json_decref(given);
	return TRUE;
}

void rdmad_hand_over_discard(RdmadHandOver *hand_over)
{
	rdmad_notice("another rdmad has run since the last hand-over; nothing is taken over");
	g_hash_table_remove_all(hand_over->inherited);
}

RdmadInheritedPart *rdmad_hand_over_take(RdmadHandOver *hand_over, const char *name)
{
	gpointer key, part = NULL;

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
	while (g_hash_table_iter_next(&iter, &name, NULL))
		if (g_str_has_prefix(name, prefix) && !g_strv_contains(names, name))
			g_hash_table_iter_remove(&iter);
}

static void inherited_clear(gpointer data)
{
	RdmadHandOver *hand_over = data;

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
	if (!hand_over)
		return;
	rdmad_event_free(hand_over->deadline);
	rdmad_event_free(hand_over->settled);
	g_hash_table_unref(hand_over->inherited);
	g_free(hand_over);
}
