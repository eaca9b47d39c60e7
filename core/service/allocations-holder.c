/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the holder of a slot or a device has ended.  The rule is in
 * rdmad/allocations.h. */
#define RDMAD_LOG_TOPIC "allocations"

#include <rdmad/clock.h>
#include <rdmad/log.h>

#include "service/allocation-private.h"
#include "service/allocations-table.h"

void rdmad_allocations_set_liveness(RdmadAllocations *allocations, RdmadPodLifeFunc life,
				    gpointer data)
{
	allocations->life = life;
	allocations->life_data = data;
}

void rdmad_allocations_set_boot(RdmadAllocations *allocations, const char *boot)
{
	g_free(allocations->boot);
	allocations->boot = g_strdup(boot);
	g_clear_pointer(&allocations->boot_kubelet, g_free);
}

void rdmad_allocations_set_kubelet(RdmadAllocations *allocations, const char *kubelet)
{
	g_free(allocations->kubelet);
	allocations->kubelet = g_strdup(kubelet);
}

void rdmad_allocations_evidence_clear(RdmadAllocations *allocations)
{
	g_clear_pointer(&allocations->evidence.pods, g_hash_table_unref);
	g_clear_pointer(&allocations->evidence.logs, g_hash_table_unref);
	g_clear_pointer(&allocations->evidence.kubelet, g_free);
}

void rdmad_allocations_evidence_take(RdmadAllocations *allocations, const RdmadPodList *list)
{
	rdmad_allocations_evidence_clear(allocations);
	allocations->evidence.pods = g_hash_table_ref(list->pods);
	if (list->logs)
		allocations->evidence.logs = g_hash_table_ref(list->logs);
	allocations->evidence.kubelet = g_strdup(list->kubelet);
	allocations->evidence.asked_us = list->asked_us;
}

static RdmadPodLife pod_life(RdmadAllocations *allocations, const char *pod_namespace,
			     const char *pod_name, const char *pod_cgroup)
{
	if (!allocations->life || !pod_name)
		return RDMAD_POD_LIFE_UNKNOWN;
	return allocations->life(pod_namespace, pod_name, pod_cgroup, allocations->life_data);
}

RdmadPodLife rdmad_allocations_pod_life(RdmadAllocations *allocations, const char *pod_namespace,
					const char *pod_name)
{
	return pod_life(allocations, pod_namespace, pod_name, NULL);
}

gboolean rdmad_allocations_is_of_another_boot(const RdmadAllocations *allocations,
					      const RdmadAllocation *allocation)
{
	return allocation->boot && allocations->boot &&
	       !g_str_equal(allocation->boot, allocations->boot);
}

RdmadPodLife rdmad_allocations_life(RdmadAllocations *allocations,
				    const RdmadAllocation *allocation)
{
	return pod_life(allocations, allocation->pod_namespace, allocation->pod_name,
			rdmad_allocations_is_of_another_boot(allocations, allocation)
				? NULL
				: allocation->pod_cgroup);
}

static gboolean cgroup_may_appear(const RdmadAllocationRecord *record, gint64 asked_us)
{
	return !record->named_us || asked_us - record->named_us < RDMAD_ALLOCATION_CGROUP_US;
}

/* A younger allocation without a cgroup was granted after the cgroup of the older one's pod was
 * found.  It may be of the same pod only if kubelet was restarted: if that has lost its
 * checkpoint, it admits the pod again. Until a cgroup has had the time to appear, the pod may be a
 * later one. */
static gboolean is_of_later_pod(const RdmadAllocationRecord *record,
				const RdmadAllocationRecord *later, gint64 asked_us)
{
	const RdmadAllocation *allocation = record->allocation, *younger = later->allocation;

	if (younger->pod_cgroup)
		return !g_str_equal(younger->pod_cgroup, allocation->pod_cgroup);
	return younger->number > MAX(allocation->number, record->found_number) &&
	       (record->outlives || g_strcmp0(allocation->kubelet, younger->kubelet) == 0 ||
		cgroup_may_appear(later, asked_us));
}

gboolean rdmad_allocations_outlives(RdmadAllocations *allocations, RdmadAllocationRecord *record,
				    const RdmadAllocationRecord *later, gint64 asked_us)
{
	const RdmadAllocation *allocation = record->allocation;

	if (record->carried || !allocation->pod_cgroup ||
	    g_strcmp0(later->allocation->pod_cgroup, allocation->pod_cgroup) == 0 ||
	    rdmad_allocations_life(allocations, allocation) != RDMAD_POD_LIFE_ALIVE ||
	    !is_of_later_pod(record, later, asked_us))
		return FALSE;
	record->outlives |= later->allocation->pod_cgroup ||
			    g_strcmp0(allocation->kubelet, later->allocation->kubelet) == 0;
	return TRUE;
}

gboolean rdmad_allocations_kubelet_is_newer(RdmadAllocations *allocations,
					    const RdmadAllocation *allocation, const char *kubelet)
{
	return !rdmad_allocations_is_of_another_boot(allocations, allocation) &&
	       g_strcmp0(kubelet, allocation->kubelet) != 0;
}

static GPtrArray *slots_of_another_boot(const RdmadAllocations *allocations)
{
	GPtrArray *records = g_ptr_array_new();

	for (GList *l = allocations->order.head; l; l = l->next) {
		RdmadAllocationRecord *record = l->data;

		if (rdmad_allocations_is_of_another_boot(allocations, record->allocation))
			g_ptr_array_add(records, record);
	}
	return records;
}

static void record_carry(RdmadAllocations *allocations, RdmadAllocationRecord *record,
			 RdmadAllocation *now)
{
	rdmad_allocations_news_add(allocations, record->allocation, now, NULL);
	rdmad_allocations_set(allocations, record, rdmad_allocation_ref(now));
	record->carried = allocations->boot_kubelet != NULL;
}

gboolean rdmad_allocations_some_of_another_boot(const RdmadAllocations *allocations)
{
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;

		if (rdmad_allocations_is_of_another_boot(allocations, record->allocation))
			return TRUE;
	}
	return FALSE;
}

gboolean rdmad_allocations_begin_boot(RdmadAllocations *allocations, gboolean is_first)
{
	g_autoptr(GPtrArray) records = slots_of_another_boot(allocations);
	g_autoptr(GPtrArray) put =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_allocation_unref);
	g_autoptr(GError) error = NULL;

	/* Keeps the first kubelet: if the write fails, a later kubelet may lack the checkpoint by
	 * which this one starts pods. */
	if (is_first && !allocations->boot_kubelet)
		allocations->boot_kubelet = g_strdup(allocations->kubelet);
	for (guint i = 0; i < records->len; i++) {
		const RdmadAllocationRecord *record = records->pdata[i];
		RdmadAllocation *now = rdmad_allocation_copy(record->allocation);

		rdmad_allocation_set_witness(now, allocations->boot, allocations->boot_kubelet);
		g_ptr_array_add(put, now);
	}
	if (put->len && !rdmad_allocations_write(allocations, NULL, put, &error)) {
		rdmad_warn("allocations of the last boot are not brought into this one: %s",
			   error->message);
		return FALSE;
	}
	for (guint i = 0; i < records->len; i++)
		record_carry(allocations, records->pdata[i], put->pdata[i]);
	return TRUE;
}

/* Returns whether the last List is of this kubelet, and not older than its request. */
static gboolean list_is_current(const RdmadAllocations *allocations, gint64 asked_us)
{
	const RdmadAllocationsEvidence *evidence = &allocations->evidence;

	return evidence->pods && evidence->asked_us >= asked_us &&
	       g_strcmp0(evidence->kubelet, allocations->kubelet) == 0;
}

/* Judges by the last List, because kubelet may have lost its checkpoint. */
static RdmadHolder judge_by_list(RdmadAllocations *allocations, const RdmadAllocation *allocation,
				 gint64 asked_us, const char **why)
{
	if (!list_is_current(allocations, asked_us))
		return RDMAD_HOLDER_DOUBTFUL;
	if (!allocation->pod_name ||
	    rdmad_pods_set_has(allocations->evidence.pods, allocation->pod_namespace,
			       allocation->pod_name))
		return RDMAD_HOLDER_LIVES;
	*why = "kubelet no longer lists its pod";
	return RDMAD_HOLDER_OVER;
}

/* Returns TRUE if the pod was inferred from shared slots, without a container.  The holder is then
 * either an init container of that pod, which keeps its slots while the pod lives, or a pod that
 * ended before it was listed.  A kubelet with its checkpoint reassigns slots only of the latter. */
static gboolean pod_is_a_guess(RdmadAllocations *allocations, const RdmadAllocation *allocation)
{
	return allocation->pod_name && !allocation->container &&
	       !rdmad_allocations_kubelet_is_newer(allocations, allocation, allocations->kubelet);
}

/* The time that a call waits for a List is no part of the admission: its machine may be paused
 * meanwhile. */
static gint64 age_at(const RdmadAllocationRecord *record, gint64 asked_us)
{
	return (asked_us ? asked_us : rdmad_now_us()) - record->since_us;
}

/* A pod without a name may be the one that is being admitted, unless that takes too long and Lists
 * lack it: time alone also passes while the machine is paused. */
static gboolean admission_is_over(const RdmadAllocations *allocations,
				  const RdmadAllocationRecord *record, gint64 asked_us)
{
	if (age_at(record, asked_us) < RDMAD_ALLOCATION_GRACE_US)
		return FALSE;
	if (record->allocation->pod_name || !allocations->kubelet)
		return TRUE;
	return record->missing_us &&
	       allocations->evidence.asked_us - record->missing_us >= RDMAD_ALLOCATION_MISSING_US;
}

RdmadHolder rdmad_allocations_judge(RdmadAllocations *allocations,
				    const RdmadAllocationRecord *record, gint64 asked_us,
				    const char **why)
{
	const RdmadAllocation *allocation = record->allocation;
	const RdmadPodLife life = rdmad_allocations_life(allocations, allocation);

	/* The living pod may be a later one of the same name, whose own devices a List shows. */
	if (life == RDMAD_POD_LIFE_ALIVE && !pod_is_a_guess(allocations, allocation))
		return list_is_current(allocations, asked_us) ? RDMAD_HOLDER_LIVES
							      : RDMAD_HOLDER_DOUBTFUL;
	if (life == RDMAD_POD_LIFE_GONE)
		*why = "its pod has ended";
	else if (rdmad_allocations_is_of_another_boot(allocations, allocation))
		*why = "the node was restarted";
	else if (rdmad_allocations_kubelet_is_newer(allocations, allocation, allocations->kubelet))
		return judge_by_list(allocations, allocation, asked_us, why);
	else if (record->carried && allocation->pod_name)
		*why = "the node was restarted";
	else if (record->carried || !admission_is_over(allocations, record, asked_us))
		return RDMAD_HOLDER_SHARES;
	else
		*why = "kubelet gave its slots to another pod";
	return RDMAD_HOLDER_OVER;
}

RdmadHolder rdmad_allocations_judge_elsewhere(RdmadAllocations *allocations,
					      const RdmadAllocation *allocation, gint64 asked_us)
{
	if (rdmad_allocations_life(allocations, allocation) == RDMAD_POD_LIFE_GONE)
		return RDMAD_HOLDER_OVER;
	return list_is_current(allocations, asked_us) ? RDMAD_HOLDER_LIVES : RDMAD_HOLDER_DOUBTFUL;
}

char *rdmad_allocations_holder_text(const RdmadAllocation *allocation)
{
	g_autoptr(GDateTime) since =
		g_date_time_new_from_unix_utc(allocation->since_us / G_USEC_PER_SEC);
	g_autofree char *time = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;

	if (!allocation->pod_name)
		return g_strdup_printf("a pod that kubelet has not named, since %s", time);
	return g_strdup_printf("pod %s/%s, %s%s, since %s", allocation->pod_namespace,
			       allocation->pod_name,
			       allocation->container ? "container " : "an init container",
			       allocation->container ? allocation->container : "", time);
}

void rdmad_allocations_foreach_forgotten(RdmadAllocations *allocations,
					 void (*fn)(const RdmadAllocation *allocation,
						    gpointer data),
					 gpointer data)
{
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;

		if (record->forgotten)
			fn(record->allocation, data);
	}
}
