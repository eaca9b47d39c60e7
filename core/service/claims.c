/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>

#include "service/claim-private.h"
#include "service/claims-table.h"

static void claim_load(const RdmadClaim *claim, gpointer claims)
{
	rdmad_claims_insert(claims, claim);
}

RdmadClaims *rdmad_claims_new(RdmadLoop *loop, RdmadState *state, RdmadJournal *journal,
			      GError **error)
{
	RdmadClaims *claims = g_new0(RdmadClaims, 1);

	claims->state = state;
	rdmad_claims_write_init(claims, loop);
	claims->journal = journal;
	claims->by_id = g_hash_table_new(g_str_hash, g_str_equal);
	claims->by_token = g_hash_table_new_full(rdmad_token_hash, rdmad_token_equal, g_free, NULL);
	claims->ended = g_hash_table_new_full(rdmad_token_hash, rdmad_token_equal, g_free, NULL);
	claims->resolvers = rdmad_claims_resolvers_new();
	g_queue_init(&claims->order);
	rdmad_claims_news_init(claims, loop);
	if (!rdmad_state_load_claims(state, claim_load, claims, error))
		g_clear_pointer(&claims, rdmad_claims_free);
	else
		rdmad_claims_write_try(claims);
	return claims;
}

void rdmad_claims_free(RdmadClaims *claims)
{
	if (!claims)
		return;
	rdmad_claims_news_clear(claims);
	while (claims->order.head)
		rdmad_claims_remove(claims, claims->order.head->data);
	g_hash_table_unref(claims->by_id);
	g_hash_table_unref(claims->by_token);
	g_hash_table_unref(claims->ended);
	g_hash_table_unref(claims->resolvers);
	g_free(claims->problem);
	g_free(claims);
}

/* Resolvers are not counted: they are meant to go with their owner. */
guint rdmad_claims_reap(RdmadClaims *claims, const RdmadModule *owner)
{
	rdmad_claims_resolvers_reap(claims, owner);
	return rdmad_watch_list_reap(&claims->watches, owner);
}

typedef struct {
	const char *token, *device;
} Pair;

static gint pair_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(((const Pair *)a)->token, ((const Pair *)b)->token);
}

static guint list_length(const char *const *list)
{
	return g_strv_length((char **)list);
}

/* What else may be wrong is the same for claims that were loaded. */
static gboolean grant_check(const RdmadGrant *grant, GError **error)
{
	if (list_length(grant->tokens) == list_length(grant->devices))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "a grant of %s needs one device behind each token", grant->resource);
	return FALSE;
}

static GArray *grant_pairs(const RdmadGrant *grant)
{
	GArray *pairs = g_array_new(FALSE, FALSE, sizeof(Pair));

	/* One too many is enough to be refused. */
	for (guint i = 0; i <= RDMAD_CLAIM_MAX_TOKENS && grant->tokens[i]; i++) {
		const Pair pair = { grant->tokens[i], grant->devices[i] };

		g_array_append_val(pairs, pair);
	}
	g_array_sort(pairs, pair_compare);
	return pairs;
}

static RdmadClaim *claim_of_grant(const RdmadGrant *grant)
{
	g_autoptr(GArray) pairs = grant_pairs(grant);
	RdmadClaim *claim = rdmad_claim_new(NULL);

	claim->resource = g_strdup(grant->resource);
	claim->owner = g_strdup(grant->owner);
	claim->mode = g_strdup(grant->mode);
	claim->since_us = g_get_real_time();
	claim->tokens = g_new0(char *, pairs->len + 1);
	claim->devices = g_new0(char *, pairs->len + 1);
	for (guint i = 0; i < pairs->len; i++) {
		claim->tokens[i] = g_strdup(g_array_index(pairs, Pair, i).token);
		claim->devices[i] = g_strdup(g_array_index(pairs, Pair, i).device);
	}
	return claim;
}

/* The slots of the claims that hold any of these tokens, each once. */
static GPtrArray *claims_overlap(RdmadClaims *claims, const RdmadClaim *claim)
{
	GPtrArray *slots = g_ptr_array_new();
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint i = 0; claim->tokens[i]; i++) {
		RdmadClaimSlot *slot = rdmad_claims_slot(claims, claim->resource, claim->tokens[i]);

		if (slot && g_hash_table_add(seen, slot))
			g_ptr_array_add(slots, slot);
	}
	return slots;
}

/* The one claim that holds exactly these tokens, or NULL. */
static const RdmadClaim *same_tokens(const GPtrArray *slots, const RdmadClaim *claim)
{
	const RdmadClaimSlot *slot = slots->len == 1 ? g_ptr_array_index(slots, 0) : NULL;

	if (slot && g_strv_equal((const char *const *)slot->claim->tokens,
				 (const char *const *)claim->tokens))
		return slot->claim;
	return NULL;
}

static void ended_forget(RdmadClaims *claims, const RdmadClaim *claim)
{
	for (guint i = 0; claim->tokens[i]; i++) {
		const RdmadToken key = { claim->resource, claim->tokens[i] };

		g_hash_table_remove(claims->ended, &key);
	}
}

/* After it was written: `again` is the claim that goes on under the same id. */
static void grant_publish(RdmadClaims *claims, const GPtrArray *gone, const RdmadClaim *again,
			  const RdmadClaim *claim)
{
	g_autoptr(RdmadClaimRef) before = again ? rdmad_claim_ref(again) : NULL;

	for (guint i = 0; i < gone->len; i++) {
		RdmadClaimSlot *slot = g_ptr_array_index(gone, i);

		if (slot->claim != before)
			rdmad_claims_news_add(claims, slot->claim, NULL,
					      "kubelet gave its tokens to another");
		rdmad_claims_remove(claims, slot);
	}
	rdmad_claims_insert(claims, rdmad_claim_ref(claim));
	ended_forget(claims, claim);
	rdmad_claims_news_add(claims, before, claim, NULL);
}

const RdmadClaim *rdmad_claims_grant(RdmadClaims *claims, const RdmadGrant *grant, GError **error)
{
	g_autoptr(RdmadClaimRef) granted = NULL;
	g_autoptr(GPtrArray) gone = NULL;
	g_autoptr(GPtrArray) put = g_ptr_array_new();
	const RdmadClaim *again;
	RdmadClaim *claim;

	if (!grant_check(grant, error))
		return NULL;
	granted = claim = claim_of_grant(grant);
	if (!rdmad_claim_check(claim, error))
		return NULL;
	gone = claims_overlap(claims, claim);
	again = same_tokens(gone, claim);
	if (again) {
		g_free(claim->id);
		claim->id = g_strdup(again->id);
	}
	g_ptr_array_add(put, claim);
	if (!rdmad_claims_write(claims, gone, put, error))
		return NULL;
	grant_publish(claims, gone, again, claim);
	return g_steal_pointer(&granted);
}

static RdmadClaimSlot *claims_find(RdmadClaims *claims, const char *id, GError **error)
{
	RdmadClaimSlot *slot = g_hash_table_lookup(claims->by_id, id);

	if (!slot)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "there is no claim %s", id);
	return slot;
}

static void ended_remember(RdmadClaims *claims, const RdmadClaim *claim)
{
	for (guint i = 0; claim->tokens[i]; i++) {
		const RdmadToken key = { claim->resource, claim->tokens[i] };

		g_hash_table_add(claims->ended, rdmad_token_dup(&key));
	}
}

gboolean rdmad_claims_end(RdmadClaims *claims, const char *id, const char *reason, GError **error)
{
	RdmadClaimSlot *slot = claims_find(claims, id, error);
	g_autoptr(GPtrArray) gone = g_ptr_array_new();

	if (!slot)
		return FALSE;
	g_ptr_array_add(gone, slot);
	if (!rdmad_claims_write(claims, gone, NULL, error))
		return FALSE;
	ended_remember(claims, slot->claim);
	rdmad_claims_news_add(claims, slot->claim, NULL, reason);
	rdmad_claims_remove(claims, slot);
	return TRUE;
}

/* Writes `now` in the place of what the slot has. */
static gboolean claims_change(RdmadClaims *claims, RdmadClaimSlot *slot, RdmadClaim *now,
			      GError **error)
{
	g_autoptr(GPtrArray) put = g_ptr_array_new();

	g_ptr_array_add(put, now);
	if (!rdmad_claim_check(now, error) || !rdmad_claims_write(claims, NULL, put, error))
		return FALSE;
	rdmad_claims_news_add(claims, slot->claim, now, NULL);
	rdmad_claims_set(claims, slot, rdmad_claim_ref(now));
	return TRUE;
}

gboolean rdmad_claims_attach(RdmadClaims *claims, const char *id, const RdmadAttachment *attachment,
			     GError **error)
{
	RdmadClaimSlot *slot = claims_find(claims, id, error);
	g_autoptr(RdmadClaimRef) changed = NULL;
	RdmadClaim *now;
	int index;

	if (!slot)
		return FALSE;
	index = rdmad_claim_find_attachment(slot->claim, attachment->netns, attachment->interface);
	if (index < 0 && slot->claim->n_attachments == RDMAD_CLAIM_MAX_ATTACHMENTS) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "claim %s has %u attachments already", id, RDMAD_CLAIM_MAX_ATTACHMENTS);
		return FALSE;
	}
	changed = now = rdmad_claim_copy(slot->claim);
	if (index >= 0)
		rdmad_claim_remove_attachment(now, (guint)index);
	rdmad_claim_add_attachment(now, attachment);
	return claims_change(claims, slot, now, error);
}

gboolean rdmad_claims_detach(RdmadClaims *claims, const char *id, const char *netns,
			     const char *interface, GError **error)
{
	RdmadClaimSlot *slot = claims_find(claims, id, error);
	g_autoptr(RdmadClaimRef) changed = NULL;
	RdmadClaim *now;
	int index;

	if (!slot)
		return FALSE;
	index = rdmad_claim_find_attachment(slot->claim, netns, interface);
	if (index < 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "claim %s has no interface %s in %s", id, interface, netns);
		return FALSE;
	}
	changed = now = rdmad_claim_copy(slot->claim);
	rdmad_claim_remove_attachment(now, (guint)index);
	return claims_change(claims, slot, now, error);
}

const RdmadClaim *rdmad_claims_lookup(RdmadClaims *claims, const char *id)
{
	const RdmadClaimSlot *slot = g_hash_table_lookup(claims->by_id, id);

	return slot ? slot->claim : NULL;
}

const RdmadClaim *rdmad_claims_by_token(RdmadClaims *claims, const char *resource,
					const char *token)
{
	const RdmadClaimSlot *slot = rdmad_claims_slot(claims, resource, token);

	return slot ? slot->claim : NULL;
}

guint rdmad_claims_count(RdmadClaims *claims)
{
	return claims->order.length;
}

void rdmad_claims_foreach(RdmadClaims *claims, void (*fn)(const RdmadClaim *claim, gpointer data),
			  gpointer data)
{
	for (const GList *l = claims->order.head; l; l = l->next)
		fn(((const RdmadClaimSlot *)l->data)->claim, data);
}
