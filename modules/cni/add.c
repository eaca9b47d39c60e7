/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ADD: choose, look, call IPAM, plan, record the plan, execute it, record the result
 *
 * Each stage starts when the one before has ended, and ends the operation if that was cancelled.
 * All failures go through cni_add_fail().
 */
#include <jansson.h>
#include <rdmad/allocations.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/pod-metadata.h>
#include <rdmad/pods.h>
#include <rdmad/work.h>
#include <string.h>

#include "annotation.h"
#include "error.h"
#include "journal.h"
#include "look.h"
#include "operation.h"
#include "ipam/ranges.h"
#include "plan/plan.h"

/* ---- the end ---- */

static void answer(CniOperation *op, const CniResult *result)
{
	GError *problem = NULL;
	g_autofree char *text = cni_result_answer(result, op->request->version, &problem);

	if (text)
		op->done(op, text, NULL);
	else
		cni_add_fail(op, problem);
}

static void fail_undone(const GError *error, gpointer data)
{
	CniOperation *op = data;

	if (error)
		rdmad_warn("undo of a failed ADD of container %.12s: %s", op->container_id,
			   error->message);
	op->done(op, NULL, op->problem);
}

void cni_add_fail(CniOperation *op, GError *problem)
{
	if (op->problem)
		g_clear_error(&problem);
	else
		op->problem = problem;
	if (op->attachment && op->request->command == CNI_ADD)
		cni_undo_start(op->cni, op->attachment, op->netns, FALSE, &op->undo, fail_undone,
			       op);
	else
		op->done(op, NULL, op->problem);
}

static gboolean add_end_if_cancelled(CniOperation *op)
{
	if (!op->cancelled)
		return FALSE;
	cni_add_fail(op, NULL); /* may free it */
	return TRUE;
}

/* ---- done ---- */

static void attach_all(CniOperation *op)
{
	const CniAttachment *attachment = op->attachment;

	for (guint i = 0; i < attachment->nics->len; i++) {
		const CniNic *nic = attachment->nics->pdata[i];
		const RdmadAttachment made = { attachment->netns, nic->ifname, nic->rdma_device,
					       nic->addresses, nic->gid_index };
		g_autoptr(GError) error = NULL;

		if (nic->allocation &&
		    !rdmad_allocations_attach(rdmad_module_allocations(op->cni->self),
					      nic->allocation, &made, &error))
			rdmad_warn("%s of container %.12s: %s", nic->ifname, op->container_id,
				   error->message);
	}
}

static void done_written(const GError *error, gpointer data)
{
	CniOperation *op = data;

	if (error) {
		op->attachment->state = CNI_STATE_PLANNED;
		cni_add_fail(op, g_error_copy(error));
		return;
	}
	if (add_end_if_cancelled(op))
		return;
	attach_all(op);
	answer(op, op->result);
}

/* The GID of the first address of each NIC. */
static void gids_take(CniOperation *op, const RdmadExecutorReport *report)
{
	guint nic = 0;

	for (guint i = 0; i < report->n_steps; i++) {
		CniNic *at;

		while (nic < op->ends->len && i >= g_array_index(op->ends, guint, nic))
			nic++;
		at = nic < op->ends->len ? op->attachment->nics->pdata[nic] : NULL;
		if (at && report->steps[i].result >= 0 && at->gid_index == RDMAD_UNKNOWN)
			at->gid_index = report->steps[i].result;
	}
}

static int code_of_step(const RdmadExecutorReport *report)
{
	const char *step =
		report && report->n_steps ? report->steps[report->n_steps - 1].step : NULL;
	const RdmadStepKind rdma[] = { RDMAD_STEP_RDMA_MOVE, RDMAD_STEP_WAIT_GID,
				       RDMAD_STEP_RDMA_BIND };

	for (guint i = 0; i < G_N_ELEMENTS(rdma); i++)
		if (g_strcmp0(step, rdmad_step_name(rdma[i])) == 0)
			return CNI_ERROR_RDMA;
	return CNI_ERROR_IO;
}

static void executed(const RdmadExecutorReport *report, const GError *error, gpointer data)
{
	CniOperation *op = data;
	GError *problem = NULL;

	op->execution = 0;
	cni_stats_report(op->cni->stats, report);
	if (error) {
		/* The executor undid all steps; only IPAM is left to undo. */
		if (report && !report->left)
			g_clear_pointer(&op->attachment->steps, g_free);
		cni_refuse(&problem, code_of_step(report), "%s", error->message);
		cni_add_fail(op, problem);
		return;
	}
	if (add_end_if_cancelled(op))
		return;
	gids_take(op, report);
	op->attachment->state = CNI_STATE_DONE;
	g_free(op->attachment->result);
	op->attachment->result = cni_result_text(op->result, CNI_NEWEST);
	cni_journal_write(op->cni->journal, op->attachment, done_written, op);
}

static void planned_written(const GError *error, gpointer data)
{
	CniOperation *op = data;
	GError *problem = NULL;

	if (error) {
		/* No step was executed. */
		g_clear_pointer(&op->attachment->steps, g_free);
		cni_add_fail(op, g_error_copy(error));
		return;
	}
	if (add_end_if_cancelled(op))
		return;
	op->execution =
		rdmad_executor_run(op->cni->executor, RDMAD_EXECUTE_DO, op->attachment->steps,
				   op->netns, executed, op, &problem);
	if (!op->execution)
		cni_add_fail(op, problem);
}

/* ---- the plan ---- */

static char **addresses_text(const CniResult *result)
{
	GPtrArray *texts = g_ptr_array_new();
	char text[RDMAD_IP_TEXT];

	for (guint i = 0; i < result->ips->len; i++)
		g_ptr_array_add(
			texts, g_strdup(rdmad_ip_text(&g_array_index(result->ips, CniIp, i).address,
						      TRUE, text)));
	g_ptr_array_add(texts, NULL);
	return (char **)g_ptr_array_free(texts, FALSE);
}

static gboolean nic_plan(CniOperation *op, guint i, GPtrArray *steps, GError **error)
{
	CniNic *nic = op->attachment->nics->pdata[i];
	CniPlanInput input = {
		.settings = op->settings,
		.request = op->request,
		.choice = op->choices->pdata[i],
		.host = op->look->host,
		.pod = op->look->pod,
		.ipam = i < op->ipam_results->len ? op->ipam_results->pdata[i] : NULL,
		.number = i,
		.rdma_exclusive = op->look->rdma_exclusive,
	};
	g_autoptr(CniPlan) plan = NULL;
	guint end;

	input.gids = cni_slots_gids(op->cni, input.choice);
	input.gids.capacity = g_array_index(op->look->gid_capacities, guint, i);
	plan = cni_plan_make(&input, error);
	if (!plan)
		return FALSE;
	g_ptr_array_extend_and_steal(steps, g_steal_pointer(&plan->steps));
	plan->steps = rdmad_steps_new();
	end = steps->len;
	g_array_append_val(op->ends, end);
	nic->rdma_device = g_strdup(plan->rdma_device);
	nic->addresses = addresses_text(plan->result);
	cni_result_merge(op->result, plan->result);
	return TRUE;
}

/* Makes a copy, because the request's own result is read again. */
static CniResult *result_begin(const CniRequest *request)
{
	CniResult *result = cni_result_new();

	if (request->previous)
		cni_result_merge(result, request->previous);
	return result;
}

static gboolean all_plan(CniOperation *op, GError **error)
{
	g_autoptr(GPtrArray) steps = rdmad_steps_new();

	op->result = result_begin(op->request);
	for (guint i = 0; i < op->choices->len; i++)
		if (!nic_plan(op, i, steps, error))
			return FALSE;
	if (steps->len > RDMAD_STEPS_MAX)
		return cni_refuse(error, CNI_ERROR_CONFIG, "more than %u steps", RDMAD_STEPS_MAX);
	op->attachment->steps = rdmad_steps_to_text(steps);
	if (strlen(op->attachment->steps) <= RDMAD_STEP_JSON_MAX)
		return TRUE;
	g_clear_pointer(&op->attachment->steps, g_free);
	return cni_refuse(error, CNI_ERROR_DEVICE,
			  "the NICs have too many routes, addresses and neighbours: the record to "
			  "give them back is larger than %u bytes",
			  RDMAD_STEP_JSON_MAX);
}

static void plan(CniOperation *op)
{
	GError *problem = NULL;

	if (add_end_if_cancelled(op))
		return;
	if (!all_plan(op, &problem)) {
		cni_add_fail(op, problem);
		return;
	}
	op->attachment->state = CNI_STATE_PLANNED;
	cni_journal_write(op->cni->journal, op->attachment, planned_written, op);
}

/* ---- IPAM ---- */

static void ipam_next(CniOperation *op);

static void ipam_done(CniResult *result, const GError *error, gpointer data)
{
	CniOperation *op = data;
	CniNic *nic = op->attachment->nics->pdata[op->ipam_results->len];

	nic->refused = cni_ipam_has_refused(op->ipam);
	op->ipam = NULL;
	if (error) {
		cni_add_fail(op, g_error_copy(error));
		return;
	}
	g_ptr_array_add(op->ipam_results, result);
	ipam_next(op);
}

static void ipam_next(CniOperation *op)
{
	const guint i = cni_attachment_next_ipam(op->attachment, op->ipam_results->len);
	GError *problem = NULL;
	CniIpamCall call = { .self = op->cni->self,
			     .settings = op->settings,
			     .records = op->cni->ipam_records,
			     .command = CNI_ADD,
			     .attachment = op->attachment,
			     .netns = op->attachment->netns };

	/* The NICs before it get an empty result. */
	g_ptr_array_set_size(op->ipam_results, (gint)i);
	if (i == op->choices->len) {
		plan(op);
		return;
	}
	if (add_end_if_cancelled(op))
		return;
	call.nic = op->attachment->nics->pdata[i];
	op->ipam = cni_ipam_start(&call, ipam_done, op, &problem);
	if (op->ipam)
		return;
	/* The plugin was not called and needs no DEL, which would fail like this ADD. */
	for (guint nic = i; nic < op->attachment->nics->len; nic++)
		((CniNic *)op->attachment->nics->pdata[nic])->ipam = FALSE;
	cni_add_fail(op, problem);
}

static void begun_written(const GError *error, gpointer data)
{
	CniOperation *op = data;

	if (error)
		cni_add_fail(op, g_error_copy(error));
	else
		ipam_next(op);
}

/* A pod that names its addresses gets those. */
static gboolean asks_ipam(const CniOperation *op, const CniChoice *choice)
{
	return op->request->ipam_type && !(choice->entry && choice->entry->ips->len) &&
	       !(op->request->keys.nic_ranges && cni_mode_moves_nic(choice->mode));
}

static gboolean ranges_make(CniOperation *op, GError **error)
{
	for (guint i = 0; i < op->choices->len; i++) {
		const CniChoice *choice = op->choices->pdata[i];
		CniNic *nic = op->attachment->nics->pdata[i];

		if (!asks_ipam(op, choice))
			continue;
		nic->ranges = cni_ipam_ranges(op->look->host, choice->netdev, error);
		if (!nic->ranges)
			return FALSE;
	}
	return TRUE;
}

static gboolean ipam_prepare(CniOperation *op, GError **error)
{
	if (op->request->keys.nic_ranges && !ranges_make(op, error))
		return FALSE;
	for (guint i = 0; i < op->choices->len; i++) {
		CniNic *nic = op->attachment->nics->pdata[i];

		nic->ipam = asks_ipam(op, op->choices->pdata[i]);
		op->attachment->asked_ipam |= nic->ipam;
	}
	return TRUE;
}

/* ---- look ---- */

static void looked(CniLook *look, const GError *error, gpointer data)
{
	CniOperation *op = data;
	GError *problem = NULL;

	op->looking = NULL;
	op->look = look;
	if (error) {
		cni_add_fail(op, g_error_copy(error));
		return;
	}
	if (!ipam_prepare(op, &problem))
		cni_add_fail(op, problem);
	else if (op->attachment->asked_ipam)
		cni_journal_write(op->cni->journal, op->attachment, begun_written, op);
	else
		plan(op);
}

/* From here on, other operations see the devices that this one uses. */
static void attachment_make(CniOperation *op)
{
	op->attachment = cni_attachment_new(op->request, &op->netns_id, op->cni->boot);
	for (guint i = 0; i < op->choices->len; i++) {
		CniChoice *choice = op->choices->pdata[i];
		CniNic *nic = cni_attachment_add_nic(op->attachment);

		nic->ifname = g_strdup(choice->ifname);
		nic->device_id = g_strdup(choice->device->id);
		nic->mode = choice->mode;
		nic->allocation = g_strdup(choice->allocation);
		nic->slot_id = g_strdup(choice->slot_id);
		choice->allocation = choice->slot_id = NULL;
	}
	cni_journal_add(op->cni->journal, op->attachment);
}

/* ---- choice ---- */

static void choose(CniOperation *op);

/* `allocation` NULL: any devices. */
static gboolean is_listed_for_pod(const CniOperation *op, const RdmadAllocation *allocation)
{
	RdmadPods *pods = rdmad_module_pods(op->cni->self);

	for (guint i = 0; i < rdmad_pods_count(pods); i++) {
		const RdmadPodDevices *held = rdmad_pods_nth(pods, i);

		if (cni_request_is_for(op->request, held->pod_namespace, held->pod_name) &&
		    (!allocation ||
		     (g_str_equal(held->resource, allocation->resource) &&
		      g_strv_contains((const char *const *)held->ids, allocation->slots[0]))))
			return TRUE;
	}
	return FALSE;
}

/* A kubelet that has just started may admit the pod again, which it does not list then, and may not
 * have read yet which devices it has. */
static gboolean list_knows_pod(const CniOperation *op)
{
	RdmadPods *pods = rdmad_module_pods(op->cni->self);

	return rdmad_pods_lists(pods, op->request->pod_namespace, op->request->pod_name) &&
	       (rdmad_pods_is_steady(pods) || is_listed_for_pod(op, NULL));
}

/* Kubelet lists the last holder of a slot; an earlier one may be an init container. */
static gboolean is_last_holder(const CniOperation *op, const RdmadAllocation *allocation)
{
	return rdmad_allocations_by_slot(rdmad_module_allocations(op->cni->self),
					 allocation->resource, allocation->slots[0]) == allocation;
}

static gboolean is_unnamed(const RdmadAllocation *allocation, gconstpointer data)
{
	return !allocation->pod_name;
}

static gboolean is_unnamed_of_pod(const RdmadAllocation *allocation, gconstpointer data)
{
	const CniOperation *op = data;

	return !allocation->pod_name && is_last_holder(op, allocation) &&
	       is_listed_for_pod(op, allocation);
}

/* Returns whether an allocation has no pod.  `listed`: only allocations that kubelet lists for this
 * pod count. */
static gboolean has_unnamed(const CniOperation *op, gboolean listed)
{
	return rdmad_allocations_find(rdmad_module_allocations(op->cni->self),
				      listed ? is_unnamed_of_pod : is_unnamed, op) != NULL;
}

/* Kubelet lists each pod before its network is made.  One that it does not list lost its devices
 * with kubelet's checkpoint, or kubelet has not read it yet; without a List, it may be such a one
 * if the node has allocations.  Podman's containers have no UID. */
static gboolean list_lacks_pod(const CniOperation *op, const GError *error)
{
	const CniRequest *request = op->request;

	if (!request->pod_uid)
		return FALSE;
	return error ? rdmad_allocations_count(rdmad_module_allocations(op->cni->self)) > 0
		     : !rdmad_pods_lists(rdmad_module_pods(op->cni->self), request->pod_namespace,
					 request->pod_name);
}

/* Without a list that has the pod, an unnamed allocation may be the pod's, even one that ended by
 * this list.  With such a list, writing the allocation's name to the database may have failed.  In
 * all cases the pod would start without its NICs. */
static void pods_listed(const GError *error, gpointer data)
{
	CniOperation *op = data;
	const gboolean knows = !error && list_knows_pod(op);
	const gboolean may_have_none = knows || (!op->unnamed && !list_lacks_pod(op, error));
	GError *problem = NULL;

	if (may_have_none && !has_unnamed(op, knows)) {
		choose(op);
		return;
	}
	cni_refuse(&problem, CNI_ERROR_TRY_AGAIN, "which devices the pod was allocated: %s",
		   error   ? error->message
		   : knows ? "it cannot be written down now"
			   : "kubelet has not listed them yet");
	cni_add_fail(op, problem);
}

void cni_add_note_end(CniOperation *op, const RdmadAllocation *allocation)
{
	const CniRequest *request = op->request;

	if (!request || request->command != CNI_ADD)
		return;
	if (!allocation->pod_name)
		op->unnamed = TRUE;
	else if (allocation->container &&
		 cni_request_is_for(request, allocation->pod_namespace, allocation->pod_name))
		g_ptr_array_add(op->ended, (gpointer)rdmad_allocation_ref(allocation));
}

void cni_add_cancel(CniOperation *op)
{
	if (op->asked_pods)
		rdmad_pods_cancel(rdmad_module_pods(op->cni->self), pods_listed, op);
}

static void annotations_got(GHashTable *annotations, const GError *error, gpointer data)
{
	CniOperation *op = data;
	GError *problem = NULL;

	op->query = NULL;
	if (error) {
		cni_refuse(&problem, CNI_ERROR_TRY_AGAIN, "the pod's annotations: %s",
			   error->message);
		cni_add_fail(op, problem);
		return;
	}
	op->request->pod_networks =
		g_strdup(g_hash_table_lookup(annotations, "k8s.volcengine.com/pod-networks"));
	choose(op);
}

/* Returns TRUE if the query runs, or if it failed, which ends the operation. */
static gboolean annotation_ask(CniOperation *op)
{
	const CniRequest *request = op->request;
	g_autoptr(GError) error = NULL;

	if (!op->settings->annotation_from || request->pod_networks || op->asked_api ||
	    !request->pod_name || !request->pod_namespace)
		return FALSE;
	op->asked_api = TRUE;
	op->query = rdmad_pod_metadata_query(
		rdmad_module_pod_metadata(op->cni->self), op->cni->self, request->pod_namespace,
		request->pod_name, request->pod_uid, annotations_got, op, &error);
	if (!op->query)
		annotations_got(NULL, error, op);
	return TRUE;
}

static gboolean annotation_read(CniOperation *op, GError **error)
{
	if (op->request->pod_networks && !op->entries)
		op->entries = cni_annotation_parse(op->request->pod_networks, error);
	return !op->request->pod_networks || op->entries;
}

static void pass_through(CniOperation *op)
{
	g_autoptr(CniResult) result = result_begin(op->request);

	answer(op, result);
}

static void choose(CniOperation *op)
{
	gboolean unsure;
	const char *missing;
	g_autoptr(GArray) slots = cni_slots_of(op->cni, op->request, &unsure, &missing);
	GError *problem = NULL;

	if (add_end_if_cancelled(op))
		return;
	/* Allocate does not name the pod; by now podresources does. */
	if (unsure && !op->asked_pods) {
		op->asked_pods = TRUE;
		op->unnamed |= has_unnamed(op, FALSE);
		rdmad_pods_refresh(rdmad_module_pods(op->cni->self), op->cni->self, pods_listed,
				   op);
		return;
	}
	if (slots->len && annotation_ask(op))
		return;
	/* A pod must not start with only a part of its devices. */
	if (!cni_slots_replace(op->cni, op->request, op->ended))
		cni_refuse(&problem, CNI_ERROR_TRY_AGAIN,
			   "an allocation of the pod has ended since the request came");
	else if (missing && !op->request->device_id)
		cni_refuse(&problem, CNI_ERROR_DEVICE,
			   "%s, which the pod was allocated, is not there now", missing);
	else if (annotation_read(op, &problem))
		op->choices = cni_slots_choose(op, slots, &problem);
	if (op->choices && op->choices->len < op->undone_nics)
		cni_refuse(&problem, CNI_ERROR_TRY_AGAIN,
			   "the pod has devices for %u of the %u NICs that an earlier ADD of the "
			   "container made",
			   op->choices->len, op->undone_nics);
	if (problem) {
		cni_add_fail(op, problem);
		return;
	}
	if (!op->choices->len) {
		pass_through(op);
		return;
	}
	attachment_make(op);
	op->looking = cni_look_start(op->cni, op->netns, op->choices, looked, op, &problem);
	if (!op->looking)
		cni_add_fail(op, problem);
}

/* ---- an existing attachment ---- */

static gboolean answer_existing(CniOperation *op, const CniAttachment *existing)
{
	json_t *json =
		rdmad_json_parse(existing->result, strlen(existing->result), CNI_STDIN_DEPTH, NULL);
	g_autoptr(CniResult) result = json ? cni_result_parse(json, CNI_NEWEST, NULL) : NULL;

	json_decref(json);
	if (result)
		answer(op, result);
	return result != NULL;
}

static void earlier_undone(const GError *error, gpointer data)
{
	CniOperation *op = data;
	const CniAttachment *existing = cni_journal_lookup(op->cni->journal, op->key);

	if (error && existing) {
		cni_add_fail(op, g_error_copy(error));
		return;
	}
	if (existing && existing->state == CNI_STATE_UNDONE)
		op->undone_nics = existing->nics->len;
	choose(op);
}

static gboolean is_current(const CniOperation *op, const CniAttachment *existing)
{
	return existing->state == CNI_STATE_DONE && existing->result &&
	       g_strcmp0(existing->boot, op->cni->boot) == 0 &&
	       rdmad_netns_id_equal(&existing->netns_id, &op->netns_id);
}

static void earlier_undo(CniOperation *op, CniAttachment *existing)
{
	cni_undo_start(op->cni, existing, -1, TRUE, &op->undo, earlier_undone, op);
}

/* The kernel reuses the inode of a namespace that has ended, so a restarted container may seem to
 * have the same namespace. */
static gboolean is_attached(const CniLook *look, const CniAttachment *existing)
{
	for (guint i = 0; i < existing->nics->len; i++)
		if (!cni_view_link(look->pod, ((CniNic *)existing->nics->pdata[i])->ifname))
			return FALSE;
	return TRUE;
}

static void looked_again(CniLook *look, const GError *error, gpointer data)
{
	CniOperation *op = data;
	CniAttachment *existing = cni_journal_lookup(op->cni->journal, op->key);
	const gboolean attached = look && existing && is_attached(look, existing);

	op->looking = NULL;
	cni_look_free(look);
	if (error)
		cni_add_fail(op, g_error_copy(error));
	else if (!existing)
		choose(op);
	else if (!attached || !answer_existing(op, existing))
		earlier_undo(op, existing);
}

void cni_add_start(CniOperation *op)
{
	CniAttachment *existing = cni_journal_lookup(op->cni->journal, op->key);
	GError *problem = NULL;

	if (!existing) {
		choose(op);
		return;
	}
	if (!is_current(op, existing)) {
		earlier_undo(op, existing);
		return;
	}
	op->looking = cni_look_start(op->cni, op->netns, NULL, looked_again, op, &problem);
	if (!op->looking)
		cni_add_fail(op, problem);
}
