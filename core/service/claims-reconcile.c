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
	*mine = (Resolver){ owner, g_strdup(resolver->owner), resolver->device_of, data };
	g_hash_table_replace(claims->resolvers, g_strdup(resolver->resource), mine);
}

void rdmad_claims_set_liveness(RdmadClaims *claims, RdmadPodLifeFunc life, gpointer data)
{
	claims->life = life;
	claims->life_data = data;
}

/* What a list asks for; it is written as one, and only then done. */
typedef struct {
	GPtrArray *gone;    /* RdmadClaimSlot */
	GPtrArray *changed; /* RdmadClaimSlot, beside `put` */
	GPtrArray *put; /* RdmadClaim, an own reference: first those of `changed`, then new ones */
} Plan;

static void claim_release(gpointer claim)
{
	rdmad_claim_unref(claim);
}

static const RdmadPodDevices *claim_holder(const RdmadClaim *claim, const RdmadPodList *list)
{
	const RdmadPodDevices *holder = NULL;

	for (guint i = 0; claim->tokens[i] && !holder; i++)
		holder = rdmad_pod_list_holder(list, claim->resource, claim->tokens[i]);
	return holder;
}

static gboolean claim_is_held_by(const RdmadClaim *claim, const RdmadPodDevices *holder)
{
	return !g_strcmp0(claim->pod_namespace, holder->pod_namespace) &&
	       !g_strcmp0(claim->pod_name, holder->pod_name) &&
	       !g_strcmp0(claim->container, holder->container);
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

/* A kubelet that has just started lists pods without their devices: a sandbox that is made anew at that
 * time is no end. */
static gboolean pod_has_ended(const RdmadClaims *claims, const RdmadClaimSlot *slot,
			      const RdmadPodList *list)
{
	const RdmadClaim *claim = slot->claim;
	const RdmadPodLife life =
		claims->life && claim->pod_name
			? claims->life(claim->pod_namespace, claim->pod_name, claims->life_data)
			: RDMAD_POD_LIFE_UNKNOWN;

	return life == RDMAD_POD_LIFE_GONE ||
	       (life == RDMAD_POD_LIFE_EMPTY && slot->shown_us > list->kubelet_since_us);
}

static void plan_missing(Plan *plan, const RdmadClaims *claims, RdmadClaimSlot *slot,
			 const RdmadPodList *list)
{
	if (pod_has_ended(claims, slot, list) || slot_is_over(slot, list))
		g_ptr_array_add(plan->gone, slot);
	else if (!slot->missing_us)
		slot->missing_us = list->asked_us;
}

static void plan_slot(Plan *plan, const RdmadClaims *claims, RdmadClaimSlot *slot,
		      const RdmadPodList *list)
{
	const RdmadPodDevices *holder = claim_holder(slot->claim, list);
	RdmadClaim *now;

	/* The list is older than the grant: what it shows is the holder before. */
	if (slot->since_us > list->asked_us)
		return;
	if (!holder) {
		plan_missing(plan, claims, slot, list);
		return;
	}
	slot->missing_us = 0;
	slot->shown_us = list->asked_us;
	if (claim_is_held_by(slot->claim, holder))
		return;
	now = rdmad_claim_copy(slot->claim);
	rdmad_claim_set_pod(now, holder->pod_namespace, holder->pod_name, holder->container);
	g_ptr_array_add(plan->changed, slot);
	g_ptr_array_add(plan->put, now);
}

static gboolean token_is_free(RdmadClaims *claims, const char *resource, const char *token)
{
	const RdmadToken key = { resource, token };

	return !g_hash_table_contains(claims->by_token, &key) &&
	       !g_hash_table_contains(claims->ended, &key);
}

/* The tokens of one container that no claim has, as a claim; NULL when there is none. */
static RdmadClaim *adopt(RdmadClaims *claims, const RdmadPodList *list, const RdmadPodDevices *held,
			 const Resolver *resolver)
{
	g_autoptr(GStrvBuilder) tokens = g_strv_builder_new();
	g_autoptr(GStrvBuilder) devices = g_strv_builder_new();
	RdmadClaim *claim;

	for (guint i = 0; held->ids[i]; i++) {
		const char *device = NULL;

		if (token_is_free(claims, held->resource, held->ids[i]) &&
		    rdmad_pod_list_holder(list, held->resource, held->ids[i]) == held)
			device = resolver->device_of(held->ids[i], resolver->data);
		if (!device)
			continue;
		g_strv_builder_add(tokens, held->ids[i]);
		g_strv_builder_add(devices, device);
	}
	claim = rdmad_claim_new(NULL);
	claim->resource = g_strdup(held->resource);
	claim->owner = g_strdup(resolver->name);
	claim->since_us = g_get_real_time();
	claim->tokens = g_strv_builder_end(tokens);
	claim->devices = g_strv_builder_end(devices);
	rdmad_claim_set_pod(claim, held->pod_namespace, held->pod_name, held->container);
	return claim;
}

static void plan_adoptions(Plan *plan, RdmadClaims *claims, const RdmadPodList *list)
{
	for (guint i = 0; i < list->entries->len; i++) {
		const RdmadPodDevices *held = g_ptr_array_index(list->entries, i);
		const Resolver *resolver = g_hash_table_lookup(claims->resolvers, held->resource);
		g_autoptr(RdmadClaimRef) claim = NULL;

		if (resolver)
			claim = adopt(claims, list, held, resolver);
		/* Without tokens, or with what no claim may hold. */
		if (claim && rdmad_claim_check(claim, NULL))
			g_ptr_array_add(plan->put, (gpointer)g_steal_pointer(&claim));
	}
}

static void plan_do(const Plan *plan, RdmadClaims *claims)
{
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
	for (guint i = 0; i < plan->gone->len; i++) {
		RdmadClaimSlot *slot = g_ptr_array_index(plan->gone, i);

		rdmad_claims_news_add(claims, slot->claim, NULL, "kubelet no longer lists it");
		rdmad_claims_remove(claims, slot);
	}
}

static gboolean ended_is_over(gpointer token, gpointer value, gpointer list)
{
	const RdmadToken *key = token;

	return !rdmad_pod_list_holder(list, key->resource, key->token);
}

void rdmad_claims_reconcile(RdmadClaims *claims, const RdmadPodList *list)
{
	g_autoptr(GPtrArray) gone = g_ptr_array_new();
	g_autoptr(GPtrArray) changed = g_ptr_array_new();
	g_autoptr(GPtrArray) put = g_ptr_array_new_with_free_func(claim_release);
	g_autoptr(GError) error = NULL;
	Plan plan = { gone, changed, put };

	for (const GList *l = claims->order.head; l; l = l->next)
		plan_slot(&plan, claims, l->data, list);
	plan_adoptions(&plan, claims, list);
	g_hash_table_foreach_remove(claims->ended, ended_is_over, (gpointer)list);
	if (!gone->len && !put->len)
		return;
	if (rdmad_claims_write(claims, gone, put, &error))
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

		if (slot->missing_us || !slot->claim->pod_name)
			return TRUE;
	}
	return FALSE;
}
