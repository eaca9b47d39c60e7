/* SPDX-License-Identifier: Apache-2.0 */
/* Does the holder of a token live?  The rule is in rdmad/claims.h. */
#define RDMAD_LOG_TOPIC "claims"

#include <rdmad/log.h>

#include "service/claim-private.h"
#include "service/claims-table.h"

void rdmad_claims_set_liveness(RdmadClaims *claims, RdmadPodLifeFunc life, gpointer data)
{
	claims->life = life;
	claims->life_data = data;
}

void rdmad_claims_set_boot(RdmadClaims *claims, const char *boot)
{
	g_free(claims->boot);
	claims->boot = g_strdup(boot);
}

void rdmad_claims_set_kubelet(RdmadClaims *claims, const char *kubelet)
{
	g_free(claims->kubelet);
	claims->kubelet = g_strdup(kubelet);
}

void rdmad_claims_evidence_clear(RdmadClaims *claims)
{
	g_clear_pointer(&claims->evidence.pods, g_hash_table_unref);
	g_clear_pointer(&claims->evidence.kubelet, g_free);
}

void rdmad_claims_evidence_take(RdmadClaims *claims, const RdmadPodList *list)
{
	rdmad_claims_evidence_clear(claims);
	claims->evidence.pods = g_hash_table_ref(list->pods);
	claims->evidence.kubelet = g_strdup(list->kubelet);
	claims->evidence.asked_us = list->asked_us;
}

RdmadPodLife rdmad_claims_pod_life(RdmadClaims *claims, const char *pod_namespace,
				   const char *pod_name)
{
	if (!claims->life || !pod_name)
		return RDMAD_POD_LIFE_UNKNOWN;
	return claims->life(pod_namespace, pod_name, claims->life_data);
}

RdmadPodLife rdmad_claims_life(RdmadClaims *claims, const RdmadClaim *claim)
{
	return rdmad_claims_pod_life(claims, claim->pod_namespace, claim->pod_name);
}

static gboolean is_of_another_boot(const RdmadClaims *claims, const RdmadClaim *claim)
{
	return claim->boot && claims->boot && !g_str_equal(claim->boot, claims->boot);
}

gboolean rdmad_claims_kubelet_is_newer(RdmadClaims *claims, const RdmadClaim *claim,
				       const char *kubelet)
{
	return kubelet && !is_of_another_boot(claims, claim) &&
	       g_strcmp0(kubelet, claim->kubelet) != 0;
}

static GPtrArray *slots_of_another_boot(const RdmadClaims *claims)
{
	GPtrArray *slots = g_ptr_array_new();

	for (GList *l = claims->order.head; l; l = l->next) {
		RdmadClaimSlot *slot = l->data;

		if (is_of_another_boot(claims, slot->claim))
			g_ptr_array_add(slots, slot);
	}
	return slots;
}

static void slot_carry(RdmadClaims *claims, RdmadClaimSlot *slot, RdmadClaim *now)
{
	rdmad_claims_news_add(claims, slot->claim, now, NULL);
	rdmad_claims_set(claims, slot, rdmad_claim_ref(now));
	slot->carried = TRUE;
}

gboolean rdmad_claims_begin_boot(RdmadClaims *claims)
{
	g_autoptr(GPtrArray) slots = slots_of_another_boot(claims);
	g_autoptr(GPtrArray) put =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_claim_unref);
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < slots->len; i++) {
		const RdmadClaimSlot *slot = slots->pdata[i];
		RdmadClaim *now = rdmad_claim_copy(slot->claim);

		rdmad_claim_set_witness(now, claims->boot, claims->kubelet);
		g_ptr_array_add(put, now);
	}
	if (put->len && !rdmad_claims_write(claims, NULL, put, &error)) {
		rdmad_warn("claims of the last boot are not brought into this one: %s",
			   error->message);
		return FALSE;
	}
	for (guint i = 0; i < slots->len; i++)
		slot_carry(claims, slots->pdata[i], put->pdata[i]);
	return TRUE;
}

/* By a kubelet that may have lost its checkpoint. */
static RdmadHolder judge_by_list(RdmadClaims *claims, const RdmadClaim *claim, gint64 asked_us,
				 const char **why)
{
	const RdmadClaimsEvidence *evidence = &claims->evidence;

	if (!evidence->pods || evidence->asked_us < asked_us ||
	    g_strcmp0(evidence->kubelet, claims->kubelet) != 0)
		return RDMAD_HOLDER_DOUBTFUL;
	if (!claim->pod_name ||
	    rdmad_pods_set_has(evidence->pods, claim->pod_namespace, claim->pod_name))
		return RDMAD_HOLDER_LIVES;
	*why = "kubelet no longer lists its pod";
	return RDMAD_HOLDER_OVER;
}

RdmadHolder rdmad_claims_judge(RdmadClaims *claims, const RdmadClaimSlot *slot, gint64 asked_us,
			       const char **why)
{
	const RdmadClaim *claim = slot->claim;
	const RdmadPodLife life = rdmad_claims_life(claims, claim);

	if (life == RDMAD_POD_LIFE_ALIVE)
		return RDMAD_HOLDER_LIVES;
	if (life == RDMAD_POD_LIFE_GONE)
		*why = "its pod has ended";
	else if (is_of_another_boot(claims, claim))
		*why = "the node was restarted";
	else if (rdmad_claims_kubelet_is_newer(claims, claim, claims->kubelet))
		return judge_by_list(claims, claim, asked_us, why);
	else if (slot->carried)
		*why = "the node was restarted";
	else if (g_get_monotonic_time() - slot->since_us < RDMAD_CLAIM_GRACE_US)
		return RDMAD_HOLDER_SHARES;
	else
		*why = "kubelet gave its tokens to another pod";
	return RDMAD_HOLDER_OVER;
}

char *rdmad_claims_holder_text(const RdmadClaim *claim)
{
	g_autoptr(GDateTime) since =
		g_date_time_new_from_unix_utc(claim->since_us / G_USEC_PER_SEC);
	g_autofree char *time = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;

	if (!claim->pod_name)
		return g_strdup_printf("a pod that kubelet has not named, since %s", time);
	return g_strdup_printf("pod %s/%s, %s%s, since %s", claim->pod_namespace, claim->pod_name,
			       claim->container ? "container " : "an init container",
			       claim->container ? claim->container : "", time);
}

void rdmad_claims_foreach_forgotten(RdmadClaims *claims,
				    void (*fn)(const RdmadClaim *claim, gpointer data),
				    gpointer data)
{
	for (const GList *l = claims->order.head; l; l = l->next) {
		const RdmadClaimSlot *slot = l->data;

		if (slot->forgotten)
			fn(slot->claim, data);
	}
}
