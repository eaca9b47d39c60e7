/* SPDX-License-Identifier: Apache-2.0 */
#include "service/claims-table.h"

/* ---- tokens ---- */

/* The key points into the claim of the value, which is why both are replaced. */
static void token_point(RdmadClaims *claims, const char *token, RdmadClaimSlot *slot)
{
	RdmadToken *key = g_new(RdmadToken, 1);

	*key = (RdmadToken){ slot->claim->resource, token };
	g_hash_table_replace(claims->by_token, key, slot);
}

static void token_add(RdmadClaims *claims, const char *token, RdmadClaimSlot *slot)
{
	const RdmadToken key = { slot->claim->resource, token };
	RdmadClaimSlot *before = g_hash_table_lookup(claims->by_token, &key);
	GPtrArray *sharers = g_hash_table_lookup(claims->shared, &key);

	if (before && !sharers) {
		sharers = g_ptr_array_new();
		g_ptr_array_add(sharers, before);
		g_hash_table_insert(claims->shared, rdmad_token_dup(&key), sharers);
	}
	if (sharers)
		g_ptr_array_add(sharers, slot);
	token_point(claims, token, slot);
}

static const char *slot_token(const RdmadClaimSlot *slot, const char *token)
{
	for (guint i = 0; slot->claim->tokens[i]; i++)
		if (g_str_equal(slot->claim->tokens[i], token))
			return slot->claim->tokens[i];
	g_assert_not_reached();
}

static void token_remove(RdmadClaims *claims, const char *token, RdmadClaimSlot *slot)
{
	const RdmadToken key = { slot->claim->resource, token };
	GPtrArray *sharers = g_hash_table_lookup(claims->shared, &key);
	RdmadClaimSlot *youngest;

	if (!sharers) {
		g_hash_table_remove(claims->by_token, &key);
		return;
	}
	g_ptr_array_remove(sharers, slot);
	youngest = sharers->pdata[sharers->len - 1];
	token_point(claims, slot_token(youngest, token), youngest);
	if (sharers->len == 1)
		g_hash_table_remove(claims->shared, &key);
}

RdmadClaimSlot *rdmad_claims_slot(RdmadClaims *claims, const char *resource, const char *token)
{
	const RdmadToken key = { resource, token };

	return g_hash_table_lookup(claims->by_token, &key);
}

void rdmad_claims_holders(RdmadClaims *claims, const char *resource, const char *token,
			  RdmadClaimSlotFunc fn, gpointer data)
{
	const RdmadToken key = { resource, token };
	const GPtrArray *sharers = g_hash_table_lookup(claims->shared, &key);
	RdmadClaimSlot *only = sharers ? NULL : g_hash_table_lookup(claims->by_token, &key);

	for (guint i = 0; sharers && i < sharers->len; i++)
		fn(sharers->pdata[i], data);
	if (only)
		fn(only, data);
}

/* ---- slots ---- */

void rdmad_claims_insert(RdmadClaims *claims, const RdmadClaim *claim)
{
	RdmadClaimSlot *slot = g_new0(RdmadClaimSlot, 1);

	slot->claim = claim;
	slot->node.data = slot;
	slot->since_us = g_get_monotonic_time();
	for (guint i = 0; claim->tokens[i]; i++)
		token_add(claims, claim->tokens[i], slot);
	g_hash_table_insert(claims->by_id, claim->id, slot);
	g_queue_push_tail_link(&claims->order, &slot->node);
}

/* The tokens of a claim never change: what points to the old strings points to the new ones. */
void rdmad_claims_set(RdmadClaims *claims, RdmadClaimSlot *slot, const RdmadClaim *claim)
{
	const RdmadClaim *before = slot->claim;

	slot->claim = claim;
	for (guint i = 0; claim->tokens[i]; i++)
		if (rdmad_claims_slot(claims, claim->resource, claim->tokens[i]) == slot)
			token_point(claims, claim->tokens[i], slot);
	g_hash_table_replace(claims->by_id, claim->id, slot);
	rdmad_claim_unref(before);
}

void rdmad_claims_remove(RdmadClaims *claims, RdmadClaimSlot *slot)
{
	for (guint i = 0; slot->claim->tokens[i]; i++)
		token_remove(claims, slot->claim->tokens[i], slot);
	g_hash_table_remove(claims->by_id, slot->claim->id);
	g_queue_unlink(&claims->order, &slot->node);
	rdmad_claim_unref(slot->claim);
	g_clear_pointer(&slot->earlier, g_hash_table_unref);
	g_clear_pointer(&slot->suspects, g_hash_table_unref);
	g_free(slot);
}
