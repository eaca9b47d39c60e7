/* SPDX-License-Identifier: Apache-2.0 */
#include "service/claims-table.h"

static void slot_index(RdmadClaims *claims, RdmadClaimSlot *slot)
{
	const RdmadClaim *claim = slot->claim;

	for (guint i = 0; claim->tokens[i]; i++) {
		RdmadToken *key = g_new(RdmadToken, 1);

		*key = (RdmadToken){ claim->resource, claim->tokens[i] };
		g_hash_table_insert(claims->by_token, key, slot);
	}
	g_hash_table_insert(claims->by_id, claim->id, slot);
}

static void slot_unindex(RdmadClaims *claims, const RdmadClaimSlot *slot)
{
	const RdmadClaim *claim = slot->claim;

	for (guint i = 0; claim->tokens[i]; i++) {
		const RdmadToken key = { claim->resource, claim->tokens[i] };

		g_hash_table_remove(claims->by_token, &key);
	}
	g_hash_table_remove(claims->by_id, claim->id);
}

RdmadClaimSlot *rdmad_claims_slot(RdmadClaims *claims, const char *resource, const char *token)
{
	const RdmadToken key = { resource, token };

	return g_hash_table_lookup(claims->by_token, &key);
}

void rdmad_claims_insert(RdmadClaims *claims, const RdmadClaim *claim)
{
	RdmadClaimSlot *slot = g_new0(RdmadClaimSlot, 1);

	slot->claim = claim;
	slot->node.data = slot;
	slot->since_us = g_get_monotonic_time();
	slot_index(claims, slot);
	g_queue_push_tail_link(&claims->order, &slot->node);
}

void rdmad_claims_set(RdmadClaims *claims, RdmadClaimSlot *slot, const RdmadClaim *claim)
{
	slot_unindex(claims, slot);
	rdmad_claim_unref(slot->claim);
	slot->claim = claim;
	slot_index(claims, slot);
}

void rdmad_claims_remove(RdmadClaims *claims, RdmadClaimSlot *slot)
{
	slot_unindex(claims, slot);
	g_queue_unlink(&claims->order, &slot->node);
	rdmad_claim_unref(slot->claim);
	g_free(slot);
}
