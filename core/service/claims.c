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
	claims->shared = g_hash_table_new_full(rdmad_token_hash, rdmad_token_equal, g_free,
					       (GDestroyNotify)g_ptr_array_unref);
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
	g_hash_table_unref(claims->shared);
	g_hash_table_unref(claims->ended);
	g_hash_table_unref(claims->resolvers);
	rdmad_claims_evidence_clear(claims);
	g_free(claims->boot);
	g_free(claims->kubelet);
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

/* How many containers of one pod may share a token. */
#define SHARERS_MAX 32u

/* What becomes of the claims that hold a token of the new one. */
typedef struct {
	RdmadClaims *claims;
	const RdmadGrant *grant;
	GHashTable *seen;   /* set of RdmadClaimSlot */
	GPtrArray *gone;    /* RdmadClaimSlot */
	GPtrArray *reasons; /* beside `gone` */
	GPtrArray *shares;  /* RdmadClaimSlot: of the same pod, or soon to end */
	GPtrArray *lives;   /* RdmadClaimSlot: holders that kubelet has forgotten */
	guint doubts;	    /* how many of them may have ended */
} Overlap;

static void overlap_end(Overlap *overlap, RdmadClaimSlot *slot, const char *why)
{
	g_ptr_array_add(overlap->gone, slot);
	g_ptr_array_add(overlap->reasons, (gpointer)why);
}

static void overlap_judge(RdmadClaimSlot *slot, gpointer data)
{
	Overlap *overlap = data;
	const char *why = NULL;

	if (!g_hash_table_add(overlap->seen, slot))
		return;
	switch (rdmad_claims_judge(overlap->claims, slot, overlap->grant->asked_us, &why)) {
	case RDMAD_HOLDER_OVER:
		overlap_end(overlap, slot, why);
		break;
	case RDMAD_HOLDER_SHARES:
		g_ptr_array_add(overlap->shares, slot);
		break;
	case RDMAD_HOLDER_DOUBTFUL:
		overlap->doubts++;
		g_ptr_array_add(overlap->lives, slot);
		break;
	case RDMAD_HOLDER_LIVES:
		g_ptr_array_add(overlap->lives, slot);
		break;
	}
}

static void overlap_find(Overlap *overlap, RdmadClaims *claims, const RdmadGrant *grant)
{
	*overlap = (Overlap){
		.claims = claims,
		.grant = grant,
		.seen = g_hash_table_new(NULL, NULL),
		.gone = g_ptr_array_new(),
		.reasons = g_ptr_array_new(),
		.shares = g_ptr_array_new(),
		.lives = g_ptr_array_new(),
	};
	for (guint i = 0; i < RDMAD_CLAIM_MAX_TOKENS && grant->tokens[i]; i++)
		rdmad_claims_holders(claims, grant->resource, grant->tokens[i], overlap_judge,
				     overlap);
	for (guint i = 0; i + SHARERS_MAX < overlap->shares->len; i++)
		overlap_end(overlap, overlap->shares->pdata[i], "too many claims have its tokens");
}

static void overlap_clear(Overlap *overlap)
{
	g_hash_table_unref(overlap->seen);
	g_ptr_array_unref(overlap->gone);
	g_ptr_array_unref(overlap->reasons);
	g_ptr_array_unref(overlap->shares);
	g_ptr_array_unref(overlap->lives);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Overlap, overlap_clear)

/* The first token asked for that the claim has. */
static const char *overlap_token(const Overlap *overlap, const RdmadClaim *claim)
{
	const char *const *token = overlap->grant->tokens;

	while (!g_strv_contains((const char *const *)claim->tokens, *token))
		token++;
	return *token;
}

static gboolean overlap_refuses(const Overlap *overlap, GError **error)
{
	const RdmadClaimSlot *holder = overlap->lives->len ? overlap->lives->pdata[0] : NULL;
	g_autofree char *text = NULL;

	if (!holder || g_strcmp0(overlap->grant->mode, "exclusive") != 0)
		return FALSE;
	text = rdmad_claims_holder_text(holder->claim);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "%s: \"%s\" is held by %s (claim %s), %s",
		    overlap->grant->resource, overlap_token(overlap, holder->claim), text,
		    holder->claim->id,
		    overlap->doubts ? "and kubelet, which was restarted, does not say whether that "
				      "pod has ended"
				    : "which kubelet has forgotten; see `rdmad doctor`");
	return TRUE;
}

gboolean rdmad_claims_in_doubt(RdmadClaims *claims, const RdmadGrant *grant)
{
	g_auto(Overlap) overlap;

	overlap_find(&overlap, claims, grant);
	return overlap.doubts > 0;
}

static void ended_forget(RdmadClaims *claims, const RdmadClaim *claim)
{
	for (guint i = 0; claim->tokens[i]; i++) {
		const RdmadToken key = { claim->resource, claim->tokens[i] };

		g_hash_table_remove(claims->ended, &key);
	}
}

/* After it was written. */
static void grant_publish(RdmadClaims *claims, const Overlap *overlap, const RdmadClaim *claim)
{
	for (guint i = 0; i < overlap->gone->len; i++) {
		RdmadClaimSlot *slot = g_ptr_array_index(overlap->gone, i);

		rdmad_claims_news_add(claims, slot->claim, NULL, overlap->reasons->pdata[i]);
		rdmad_claims_remove(claims, slot);
	}
	rdmad_claims_insert(claims, rdmad_claim_ref(claim));
	if (claims->evidence.pods)
		rdmad_claims_slot(claims, claim->resource, claim->tokens[0])->earlier =
			g_hash_table_ref(claims->evidence.pods);
	ended_forget(claims, claim);
	rdmad_claims_news_add(claims, NULL, claim, NULL);
	for (guint i = 0; i < overlap->lives->len; i++)
		rdmad_claims_news_overlap(
			claims, ((const RdmadClaimSlot *)overlap->lives->pdata[i])->claim, claim);
}

const RdmadClaim *rdmad_claims_grant(RdmadClaims *claims, const RdmadGrant *grant, GError **error)
{
	g_autoptr(RdmadClaimRef) granted = NULL;
	g_autoptr(GPtrArray) put = g_ptr_array_new();
	g_auto(Overlap) overlap = { 0 };
	RdmadClaim *claim;

	overlap_find(&overlap, claims, grant);
	if (!grant_check(grant, error))
		return NULL;
	granted = claim = claim_of_grant(grant);
	rdmad_claim_set_witness(claim, claims->boot, claims->kubelet);
	if (!rdmad_claim_check(claim, error) || overlap_refuses(&overlap, error))
		return NULL;
	g_ptr_array_add(put, claim);
	if (!rdmad_claims_write(claims, overlap.gone, put, error))
		return NULL;
	grant_publish(claims, &overlap, claim);
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
