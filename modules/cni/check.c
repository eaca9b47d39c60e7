/* SPDX-License-Identifier: Apache-2.0 */
/* CHECK: verifies the results of the steps by a look, by IPAM, and by RDMA_CM */
#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/network.h>
#include <string.h>

#include "error.h"
#include "journal.h"
#include "look.h"
#include "operation.h"

static void check_fail(CniOperation *op, const GError *problem)
{
	op->done(op, NULL, op->problem ? op->problem : problem);
}

/* ---- by RDMA ---- */

static void proved(const RdmadExecutorReport *report, const GError *error, gpointer data)
{
	CniOperation *op = data;
	g_autoptr(GError) problem = NULL;

	op->execution = 0;
	if (error)
		cni_refuse(&problem, CNI_ERROR_CHECK, "%s", error->message);
	check_fail(op, problem);
}

/* Selects the steps that change nothing. */
static char *proofs(const GPtrArray *steps, guint *n)
{
	g_autoptr(GPtrArray) some = g_ptr_array_new();

	for (guint i = 0; i < steps->len; i++) {
		const RdmadStep *step = steps->pdata[i];

		if (step->kind == RDMAD_STEP_WAIT_GID || step->kind == RDMAD_STEP_RDMA_BIND)
			g_ptr_array_add(some, (gpointer)step);
	}
	*n = some->len;
	return rdmad_steps_to_text(some);
}

static void prove(CniOperation *op)
{
	const char *text = op->attachment->steps;
	g_autoptr(GPtrArray) steps = rdmad_steps_from_text(text, strlen(text), NULL);
	g_autoptr(GError) problem = NULL;
	guint n = 0;
	g_autofree char *some = steps ? proofs(steps, &n) : NULL;

	if (!n) {
		op->done(op, NULL, op->problem);
		return;
	}
	op->execution = rdmad_executor_run(op->cni->executor, RDMAD_EXECUTE_TRY, some, op->netns,
					   proved, op, &problem);
	if (!op->execution)
		check_fail(op, problem);
}

/* ---- by IPAM ---- */

static void ipam_next(CniOperation *op, guint nic);

static void ipam_done(CniResult *result, const GError *error, gpointer data)
{
	CniOperation *op = data;

	op->ipam = NULL;
	if (error)
		check_fail(op, error);
	else
		ipam_next(op, g_array_index(op->ends, guint, op->ends->len - 1));
}

static void ipam_next(CniOperation *op, guint nic)
{
	g_autoptr(GError) problem = NULL;
	CniIpamCall call = { .self = op->cni->self,
			     .settings = op->settings,
			     .records = op->cni->ipam_records,
			     .command = CNI_CHECK,
			     .attachment = op->attachment,
			     .netns = op->attachment->netns,
			     .previous = json_object_get(op->request->config, "prevResult") };

	nic = cni_attachment_next_ipam(op->attachment, nic);
	if (nic == op->attachment->nics->len || !op->request->ipam_type) {
		prove(op);
		return;
	}
	call.nic = op->attachment->nics->pdata[nic++];
	g_array_append_val(op->ends, nic);
	op->ipam = cni_ipam_start(&call, ipam_done, op, &problem);
	if (!op->ipam)
		check_fail(op, problem);
}

/* ---- by a look ---- */

static gboolean has_address(const CniView *pod, const RdmadStepAddress *wanted)
{
	for (guint i = 0; i < pod->addresses->len; i++) {
		const RdmadStepAddress *address =
			&g_array_index(pod->addresses, RdmadStepAddress, i);

		if (g_strcmp0(address->link, wanted->link) == 0 &&
		    rdmad_ip_equal(&address->ip, &wanted->ip))
			return TRUE;
	}
	return FALSE;
}

static gboolean has_route(const CniView *pod, const RdmadStepRoute *wanted)
{
	for (guint i = 0; i < pod->routes->len; i++) {
		const RdmadStepRoute *route = &g_array_index(pod->routes, CniViewRoute, i).route;

		if (route->table == wanted->table && route->to.prefix == wanted->to.prefix &&
		    route->to.family == wanted->to.family &&
		    memcmp(route->to.bytes, wanted->to.bytes, sizeof(route->to.bytes)) == 0)
			return TRUE;
	}
	return FALSE;
}

static gboolean has_rule(const CniView *pod, const RdmadStepRule *wanted)
{
	for (guint i = 0; i < pod->rules->len; i++) {
		const RdmadStepRule *rule = &g_array_index(pod->rules, RdmadStepRule, i);

		if (rule->table == wanted->table && rule->priority == wanted->priority &&
		    rdmad_ip_equal(&rule->from, &wanted->from))
			return TRUE;
	}
	return FALSE;
}

static gboolean link_is_as_made(const CniView *pod, const char *name, guint32 mtu)
{
	const CniViewLink *link = cni_view_link(pod, name);

	return link && link->up && (!mtu || link->mtu == mtu);
}

static gboolean step_is_seen(const CniView *pod, const RdmadStep *step)
{
	if (step->kind == RDMAD_STEP_LINK_CREATE)
		return link_is_as_made(pod, step->create.name, step->create.mtu);
	if (step->kind == RDMAD_STEP_LINK_MOVE)
		return link_is_as_made(pod, step->move.pod_name, 0);
	if (step->kind == RDMAD_STEP_ADDRESS)
		return has_address(pod, &step->address);
	if (step->kind == RDMAD_STEP_ROUTE)
		return step->route.remove || has_route(pod, &step->route);
	return step->kind != RDMAD_STEP_RULE || has_rule(pod, &step->rule);
}

static void looked(CniLook *look, const GError *error, gpointer data)
{
	CniOperation *op = data;
	const char *text = op->attachment->steps;
	g_autoptr(GPtrArray) steps = rdmad_steps_from_text(text, strlen(text), NULL);
	g_autoptr(GError) problem = NULL;

	op->looking = NULL;
	op->look = look;
	if (error) {
		check_fail(op, error);
		return;
	}
	for (guint i = 0; steps && i < steps->len && !problem; i++) {
		g_autofree char *what = rdmad_step_describe(steps->pdata[i]);

		if (!step_is_seen(look->pod, steps->pdata[i]))
			cni_refuse(&problem, CNI_ERROR_CHECK, "%s: it is no longer so", what);
	}
	if (problem)
		check_fail(op, problem);
	else
		ipam_next(op, 0);
}

void cni_check_start(CniOperation *op)
{
	CniAttachment *existing = cni_journal_lookup(op->cni->journal, op->key);
	g_autoptr(GError) problem = NULL;

	/* The ADD of a pod without NICs passed through and left no attachment. */
	if (!existing && op->request->previous && !op->request->device_id) {
		op->done(op, NULL, NULL);
		return;
	}
	if (!existing || existing->state != CNI_STATE_DONE ||
	    !rdmad_netns_id_equal(&existing->netns_id, &op->netns_id)) {
		cni_refuse(&problem, CNI_ERROR_UNKNOWN_CONTAINER,
			   "container %.12s has no attachment %s", op->container_id,
			   op->request->ifname);
		check_fail(op, problem);
		return;
	}
	op->attachment = existing;
	op->looking = cni_look_start(op->cni, op->netns, NULL, looked, op, &problem);
	if (!op->looking)
		check_fail(op, problem);
}
