/* SPDX-License-Identifier: Apache-2.0 */
/* The table of claims against what kubelet lists. */
#define RDMAD_LOG_TOPIC "claims"

#include <rdmad/log.h>
#include <string.h>

#include "service/claim-private.h"
#include "service/claims-table.h"

typedef struct {
	RdmadModule *owner;
	char *name; /* the owner's */
	const char *(*device_of)(const char *token, gpointer data);
	char *(*id_of)(const char *const *tokens, gpointer data);
	gpointer data;
} Resolver;

static void resolver_free(gpointer data)
{
	Resolver *resolver = data;

	g_free(resolver->name);
	g_free(resolver);
}

GHashTable *rdmad_claims_resolvers_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, resolver_free);
}

static gboolean resolver_is_of(gpointer resource, gpointer resolver, gpointer owner)
{
	return ((const Resolver *)resolver)->owner == owner;
}

guint rdmad_claims_resolvers_reap(RdmadClaims *claims, const RdmadModule *owner)
{
	return g_hash_table_foreach_remove(claims->resolvers, resolver_is_of, (gpointer)owner);
}

void rdmad_claims_set_resolver(RdmadClaims *claims, RdmadModule *owner,
			       const RdmadClaimResolver *resolver, gpointer data)
{
	Resolver *mine;

	if (!resolver->device_of) {
		g_hash_table_remove(claims->resolvers, resolver->resource);
		return;
	}
	mine = g_new(Resolver, 1);
	*mine = (Resolver){ owner, g_strdup(resolver->owner), resolver->device_of, resolver->id_of,
			    data };
	g_hash_table_replace(claims->resolvers, g_strdup(resolver->resource), mine);
}

/* What a list asks for; it is written as one, and only then done. */
typedef struct {
	RdmadClaims *claims;
	const RdmadPodList *list;
	GHashTable *entries; /* RdmadClaimSlot -> the RdmadPodDevices that it is the claim of */
	GHashTable *slots;   /* the other way round */
	GHashTable *over;    /* set of RdmadClaimSlot: those of `gone` */
	GHashTable *holders; /* set of "namespace/pod": those with devices of ours or of others */
	GPtrArray *gone;     /* RdmadClaimSlot */
	GPtrArray *reasons;  /* beside `gone` */
	GPtrArray *changed;  /* RdmadClaimSlot, beside `put` */
	GPtrArray *put; /* RdmadClaim, an own reference: first those of `changed`, then new ones */
} Plan;

static void claim_release(gpointer claim)
{
	rdmad_claim_unref(claim);
}

/* ---- which claim is of which container ---- */

typedef struct {
	Plan *plan;
	const RdmadPodDevices *entry;
	RdmadClaimSlot *found;
} Match;

/* The youngest that is not younger than the list: kubelet asks for all devices of a container at once. */
static void match_slot(RdmadClaimSlot *slot, gpointer data)
{
	Match *match = data;

	if (slot->since_us <= match->plan->list->asked_us &&
	    g_strv_equal((const char *const *)slot->claim->tokens,
			 (const char *const *)match->entry->ids))
		match->found = slot;
}

static void plan_match(Plan *plan)
{
	for (guint i = 0; i < plan->list->entries->len; i++) {
		RdmadPodDevices *entry = g_ptr_array_index(plan->list->entries, i);
		Match match = { plan, entry, NULL };

		g_hash_table_add(plan->holders,
				 g_strdup_printf("%s/%s", entry->pod_namespace, entry->pod_name));
		rdmad_claims_holders(plan->claims, entry->resource, entry->ids[0], match_slot,
				     &match);
		if (!match.found || g_hash_table_contains(plan->entries, match.found))
			continue;
		g_hash_table_insert(plan->entries, match.found, entry);
		g_hash_table_insert(plan->slots, entry, match.found);
	}
}

static gboolean claim_is_of_pod(const RdmadClaim *claim, const RdmadPodDevices *entry)
{
	return !g_strcmp0(claim->pod_namespace, entry->pod_namespace) &&
	       !g_strcmp0(claim->pod_name, entry->pod_name);
}

/* Who has tokens of the claim: its own container, else its pod, else anybody. */
static const RdmadPodDevices *slot_entry(const Plan *plan, const RdmadClaimSlot *slot)
{
	const RdmadPodDevices *entry = g_hash_table_lookup(plan->entries, slot);
	const RdmadClaim *claim = slot->claim;

	for (guint i = 0; claim->tokens[i] && !(entry && claim_is_of_pod(claim, entry)); i++) {
		const RdmadPodDevices *holder =
			rdmad_pod_list_holder(plan->list, claim->resource, claim->tokens[i]);

		if (holder && (!entry || claim_is_of_pod(claim, holder)))
			entry = holder;
	}
	return entry;
}

/* ---- claims that end ---- */

static void plan_end(Plan *plan, RdmadClaimSlot *slot, const char *why)
{
	g_ptr_array_add(plan->gone, slot);
	g_ptr_array_add(plan->reasons, (gpointer)why);
	g_hash_table_add(plan->over, slot);
}

static gboolean slot_is_over(const RdmadClaimSlot *slot, const RdmadPodList *list)
{
	const gint64 steady_us = MAX(slot->since_us, list->kubelet_since_us);
	const gint64 missing_for_us = list->asked_us - slot->missing_us;

	if (!slot->missing_us)
		return FALSE;
	if (slot->shown_us > list->kubelet_since_us)
		return missing_for_us >= RDMAD_CLAIM_CONFIRM_US;
	return missing_for_us >= RDMAD_CLAIM_MISSING_US &&
	       list->asked_us - steady_us >= RDMAD_CLAIM_GRACE_US;
}

static void plan_missing(Plan *plan, RdmadClaimSlot *slot, const char *why)
{
	if (slot_is_over(slot, plan->list))
		plan_end(plan, slot, why);
	else if (!slot->missing_us)
		slot->missing_us = plan->list->asked_us;
}

static void suspects_add(const Plan *plan, RdmadClaimSlot *slot)
{
	GHashTableIter iter;
	gpointer pod;

	if (!slot->suspects)
		slot->suspects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_iter_init(&iter, plan->list->pods);
	while (g_hash_table_iter_next(&iter, &pod, NULL))
		if (!(slot->earlier && g_hash_table_contains(slot->earlier, pod)) &&
		    !g_hash_table_contains(plan->holders, pod))
			g_hash_table_add(slot->suspects, g_strdup(pod));
}

static gboolean is_not_listed(gpointer pod, gpointer value, gpointer pods)
{
	return !g_hash_table_contains(pods, pod);
}

/* Kubelet was restarted, without its checkpoint, before it had named the pod: that is one which was not
 * listed before the grant, and which a kubelet that has read its pods lists without devices. */
static gboolean slot_has_suspects(const Plan *plan, RdmadClaimSlot *slot)
{
	const RdmadPodList *list = plan->list;

	if (!rdmad_claims_kubelet_is_newer(plan->claims, slot->claim, list->kubelet))
		return FALSE;
	if (!slot->suspects || list->asked_us - list->kubelet_since_us < RDMAD_CLAIM_GRACE_US)
		suspects_add(plan, slot);
	g_hash_table_foreach_remove(slot->suspects, is_not_listed, list->pods);
	return g_hash_table_size(slot->suspects) > 0;
}

/* A kubelet that has just started lists pods without their devices: a sandbox that is made again at that
 * time is no end. */
static gboolean pod_has_ended(const Plan *plan, const RdmadClaimSlot *slot)
{
	const RdmadPodLife life = rdmad_claims_life(plan->claims, slot->claim);

	return life == RDMAD_POD_LIFE_GONE ||
	       (life == RDMAD_POD_LIFE_EMPTY && slot->shown_us > plan->list->kubelet_since_us);
}

/* The pod lives, and its kubelet does not know that it has the tokens. */
static gboolean slot_is_forgotten(const Plan *plan, RdmadClaimSlot *slot)
{
	const RdmadClaim *claim = slot->claim;

	if (!claim->pod_name)
		return slot_has_suspects(plan, slot);
	if (rdmad_claims_life(plan->claims, claim) == RDMAD_POD_LIFE_ALIVE)
		return TRUE;
	if (pod_has_ended(plan, slot))
		return FALSE;
	return rdmad_claims_kubelet_is_newer(plan->claims, claim, plan->list->kubelet) &&
	       rdmad_pods_set_has(plan->list->pods, claim->pod_namespace, claim->pod_name);
}

static void slot_remember(RdmadClaimSlot *slot)
{
	slot->lacking_us = 0;
	slot->forgotten = FALSE;
}

/* A kubelet that starts lists pods before it has read its checkpoint: one list alone tells nobody. */
static void slot_forget(const Plan *plan, RdmadClaimSlot *slot)
{
	const gint64 asked_us = plan->list->asked_us;

	slot->missing_us = 0;
	if (!slot->lacking_us)
		slot->lacking_us = asked_us;
	if (slot->forgotten ||
	    asked_us - MAX(slot->lacking_us, plan->list->kubelet_since_us) < RDMAD_CLAIM_MISSING_US)
		return;
	slot->forgotten = TRUE;
	rdmad_claims_news_forgotten(plan->claims, slot->claim);
}

/* ---- claims that go on ---- */

static void plan_change(Plan *plan, RdmadClaimSlot *slot, const RdmadPodDevices *entry,
			const char *container)
{
	const RdmadClaims *claims = plan->claims;
	const RdmadClaim *claim = slot->claim;
	RdmadClaim *now;

	if (claim_is_of_pod(claim, entry) && !g_strcmp0(claim->container, container) &&
	    !g_strcmp0(claim->boot, claims->boot) &&
	    !g_strcmp0(claim->kubelet, plan->list->kubelet))
		return;
	now = rdmad_claim_copy(claim);
	rdmad_claim_set_pod(now, entry->pod_namespace, entry->pod_name, container);
	rdmad_claim_set_witness(now, claims->boot, plan->list->kubelet);
	g_ptr_array_add(plan->changed, slot);
	g_ptr_array_add(plan->put, now);
}

/* A container whose devices another claim has exactly is not the one that this claim is of: that is
 * an init container, which podresources does not list. */
static void plan_shown(Plan *plan, RdmadClaimSlot *slot, const RdmadPodDevices *entry)
{
	const RdmadClaimSlot *owner = g_hash_table_lookup(plan->slots, entry);
	const RdmadClaim *claim = slot->claim;
	const char *container = !owner || owner == slot ? entry->container : NULL;

	if (rdmad_claims_life(plan->claims, claim) == RDMAD_POD_LIFE_GONE) {
		plan_missing(plan, slot, "its pod has ended, though kubelet lists it still");
		return;
	}
	if (!container && !g_strcmp0(claim->container, entry->container)) {
		plan_end(plan, slot, "kubelet gave its container others");
		return;
	}
	slot->missing_us = 0;
	g_clear_pointer(&slot->earlier, g_hash_table_unref);
	g_clear_pointer(&slot->suspects, g_hash_table_unref);
	slot->shown_us = plan->list->asked_us;
	slot->carried = FALSE;
	slot_remember(slot);
	plan_change(plan, slot, entry, container ?: claim->container);
}

static void plan_slot(Plan *plan, RdmadClaimSlot *slot)
{
	const RdmadPodDevices *entry;

	/* The list is older than the grant: what it shows is the holder before. */
	if (slot->since_us > plan->list->asked_us)
		return;
	entry = slot_entry(plan, slot);
	if (entry && (!slot->claim->pod_name || claim_is_of_pod(slot->claim, entry))) {
		plan_shown(plan, slot, entry);
	} else if (slot_is_forgotten(plan, slot)) {
		slot_forget(plan, slot);
	} else if (entry) {
		plan_end(plan, slot, "kubelet gave its tokens to another pod");
	} else if (pod_has_ended(plan, slot)) {
		plan_end(plan, slot, "its pod has ended");
	} else {
		slot_remember(slot);
		plan_missing(plan, slot, "kubelet no longer lists it");
	}
}

/* ---- claims that were not known ---- */

typedef struct {
	const Plan *plan;
	gboolean taken;
} TokenUse;

static void use_note(RdmadClaimSlot *slot, gpointer data)
{
	TokenUse *use = data;

	use->taken |= !g_hash_table_contains(use->plan->over, slot);
}

static gboolean token_is_free(const Plan *plan, const char *resource, const char *token)
{
	const RdmadToken key = { resource, token };
	TokenUse use = { plan, g_hash_table_contains(plan->claims->ended, &key) };

	rdmad_claims_holders(plan->claims, resource, token, use_note, &use);
	return !use.taken;
}

static gboolean id_is_planned(const Plan *plan, const char *id)
{
	for (guint i = 0; i < plan->put->len; i++)
		if (g_str_equal(((const RdmadClaim *)plan->put->pdata[i])->id, id))
			return TRUE;
	return FALSE;
}

/* The id under which the container knows its claim, when that can be learnt; NULL: a new one. */
static char *adopt_id(const Plan *plan, const Resolver *resolver, char *const *tokens)
{
	g_autofree char *id = resolver->id_of && *tokens
				      ? resolver->id_of((const char *const *)tokens, resolver->data)
				      : NULL;

	if (!rdmad_claim_id_is_valid(id) || rdmad_claims_lookup(plan->claims, id) ||
	    id_is_planned(plan, id))
		return NULL;
	return g_steal_pointer(&id);
}

/* The tokens of one container that no claim has, as a claim; NULL when there is none. */
static RdmadClaim *adopt(const Plan *plan, const RdmadPodDevices *held, const Resolver *resolver)
{
	g_autoptr(GStrvBuilder) tokens = g_strv_builder_new();
	g_autoptr(GStrvBuilder) devices = g_strv_builder_new();
	g_auto(GStrv) list = NULL;
	RdmadClaim *claim;

	for (guint i = 0; held->ids[i]; i++) {
		const char *device = NULL;

		if (token_is_free(plan, held->resource, held->ids[i]) &&
		    rdmad_pod_list_holder(plan->list, held->resource, held->ids[i]) == held)
			device = resolver->device_of(held->ids[i], resolver->data);
		if (!device)
			continue;
		g_strv_builder_add(tokens, held->ids[i]);
		g_strv_builder_add(devices, device);
	}
	list = g_strv_builder_end(tokens);
	claim = rdmad_claim_new(adopt_id(plan, resolver, list));
	claim->resource = g_strdup(held->resource);
	claim->owner = g_strdup(resolver->name);
	claim->since_us = g_get_real_time();
	claim->tokens = g_steal_pointer(&list);
	claim->devices = g_strv_builder_end(devices);
	rdmad_claim_set_pod(claim, held->pod_namespace, held->pod_name, held->container);
	rdmad_claim_set_witness(claim, plan->claims->boot, plan->list->kubelet);
	return claim;
}

static void plan_adoptions(Plan *plan)
{
	for (guint i = 0; i < plan->list->entries->len; i++) {
		const RdmadPodDevices *held = g_ptr_array_index(plan->list->entries, i);
		const Resolver *resolver =
			g_hash_table_lookup(plan->claims->resolvers, held->resource);
		g_autoptr(RdmadClaimRef) claim = NULL;

		if (resolver)
			claim = adopt(plan, held, resolver);
		/* Without tokens, or with what no claim may hold. */
		if (!claim || !rdmad_claim_check(claim, NULL) ||
		    rdmad_claims_life(plan->claims, claim) == RDMAD_POD_LIFE_GONE)
			continue;
		g_ptr_array_add(plan->put, (gpointer)g_steal_pointer(&claim));
	}
}

/* ---- the whole ---- */

static void plan_clear(Plan *plan)
{
	g_hash_table_unref(plan->entries);
	g_hash_table_unref(plan->slots);
	g_hash_table_unref(plan->over);
	g_hash_table_unref(plan->holders);
	g_ptr_array_unref(plan->gone);
	g_ptr_array_unref(plan->reasons);
	g_ptr_array_unref(plan->changed);
	g_ptr_array_unref(plan->put);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plan, plan_clear)

static void plan_do(const Plan *plan, RdmadClaims *claims)
{
	for (guint i = 0; i < plan->gone->len; i++) {
		RdmadClaimSlot *slot = g_ptr_array_index(plan->gone, i);

		rdmad_claims_news_add(claims, slot->claim, NULL, plan->reasons->pdata[i]);
		rdmad_claims_remove(claims, slot);
	}
	for (guint i = 0; i < plan->put->len; i++) {
		const RdmadClaim *now = rdmad_claim_ref(g_ptr_array_index(plan->put, i));
		RdmadClaimSlot *slot =
			i < plan->changed->len ? g_ptr_array_index(plan->changed, i) : NULL;

		rdmad_claims_news_add(claims, slot ? slot->claim : NULL, now, NULL);
		if (slot)
			rdmad_claims_set(claims, slot, now);
		else
			rdmad_claims_insert(claims, now);
	}
}

static gboolean ended_is_over(gpointer token, gpointer value, gpointer list)
{
	const RdmadToken *key = token;

	return !rdmad_pod_list_holder(list, key->resource, key->token);
}

void rdmad_claims_reconcile(RdmadClaims *claims, const RdmadPodList *list)
{
	g_autoptr(GError) error = NULL;
	g_auto(Plan) plan = {
		.claims = claims,
		.list = list,
		.entries = g_hash_table_new(NULL, NULL),
		.slots = g_hash_table_new(NULL, NULL),
		.over = g_hash_table_new(NULL, NULL),
		.holders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.gone = g_ptr_array_new(),
		.reasons = g_ptr_array_new(),
		.changed = g_ptr_array_new(),
		.put = g_ptr_array_new_with_free_func(claim_release),
	};

	rdmad_claims_evidence_take(claims, list);
	plan_match(&plan);
	for (const GList *l = claims->order.head; l; l = l->next)
		plan_slot(&plan, l->data);
	plan_adoptions(&plan);
	g_hash_table_foreach_remove(claims->ended, ended_is_over, (gpointer)list);
	if (!plan.gone->len && !plan.put->len)
		return;
	if (rdmad_claims_write(claims, plan.gone, plan.put, &error))
		plan_do(&plan, claims);
	else
		rdmad_warn("claims are not brought in line with kubelet's: %s", error->message);
}

gboolean rdmad_claims_some_missing(RdmadClaims *claims)
{
	for (const GList *l = claims->order.head; l; l = l->next) {
		const RdmadClaimSlot *slot = l->data;

		if (slot->missing_us && slot->shown_us)
			return TRUE;
	}
	return FALSE;
}

gboolean rdmad_claims_unsettled(RdmadClaims *claims)
{
	for (const GList *l = claims->order.head; l; l = l->next) {
		const RdmadClaimSlot *slot = l->data;

		if (slot->missing_us || !slot->claim->pod_name ||
		    (slot->lacking_us && !slot->forgotten))
			return TRUE;
	}
	return FALSE;
}
