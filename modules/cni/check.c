/* SPDX-License-Identifier: Apache-2.0 */
/* CHECK: verifies the results of the steps by a look, by IPAM, and by RDMA_CM */
#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/json.h>
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

/* The route of another NIC to the same place, which was there before, is as good in the main table.
 * Several NICs may share one route, of which the view has one hop. */
static gboolean leads_the_same_way(const CniViewRoute *route, const RdmadStepRoute *wanted)
{
	if (route->hops > 1)
		return TRUE;
	return g_strcmp0(route->route.link, wanted->link)
		       ? wanted->table == RDMAD_ROUTE_TABLE_MAIN
		       : rdmad_ip_equal(&route->route.gateway, &wanted->gateway);
}

static gboolean has_route(const CniView *pod, const RdmadStepRoute *wanted)
{
	for (guint i = 0; i < pod->routes->len; i++) {
		const CniViewRoute *route = &g_array_index(pod->routes, CniViewRoute, i);

		if (route->route.table == wanted->table &&
		    rdmad_ip_equal(&route->route.to, &wanted->to) &&
		    leads_the_same_way(route, wanted))
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

static gboolean has_link(const CniView *pod, const char *name)
{
	const CniViewLink *link = cni_view_link(pod, name);

	return link && link->up;
}

static gboolean step_is_seen(const CniView *pod, const RdmadStep *step)
{
	if (step->kind == RDMAD_STEP_LINK_CREATE)
		return has_link(pod, step->create.name);
	if (step->kind == RDMAD_STEP_LINK_MOVE)
		return has_link(pod, step->move.pod_name);
	if (step->kind == RDMAD_STEP_ADDRESS)
		return has_address(pod, &step->address);
	if (step->kind == RDMAD_STEP_ROUTE)
		return step->route.remove || has_route(pod, &step->route);
	return step->kind != RDMAD_STEP_RULE || has_rule(pod, &step->rule);
}

static const CniInterface *interface_find(const CniResult *result, const char *name)
{
	for (guint i = 0; result && i < result->interfaces->len; i++) {
		const CniInterface *interface = &g_array_index(result->interfaces, CniInterface, i);

		if (interface->sandbox && g_strcmp0(interface->name, name) == 0)
			return interface;
	}
	return NULL;
}

static gboolean interface_check(const CniViewLink *link, const char *mac, guint32 mtu,
				GError **error)
{
	char found[RDMAD_MAC_TEXT];
	RdmadMac wanted;

	/* That of IPoIB has the number of a queue pair. */
	if (rdmad_mac_parse(mac, &wanted) && wanted.length == 6 &&
	    !rdmad_mac_equal(&wanted, &link->mac))
		return cni_refuse(error, CNI_ERROR_CHECK, "%s has the MAC address %s, not %s",
				  link->name, rdmad_mac_format(&link->mac, found), mac);
	return !mtu || link->mtu == mtu ||
	       cni_refuse(error, CNI_ERROR_CHECK, "%s has MTU %u, not %u", link->name, link->mtu,
			  mtu);
}

/* A later plugin of the chain may have changed an interface, and prevResult then has what it
 * set. */
static gboolean interfaces_check(const CniOperation *op, GError **error)
{
	const char *text = op->attachment->result;
	json_t *json = rdmad_json_parse(text, strlen(text), CNI_STDIN_DEPTH, NULL);
	g_autoptr(CniResult) own = json ? cni_result_parse(json, CNI_NEWEST, NULL) : NULL;
	gboolean ok = TRUE;

	json_decref(json);
	for (guint i = 0; ok && i < op->attachment->nics->len; i++) {
		const char *name = ((CniNic *)op->attachment->nics->pdata[i])->ifname;
		const CniViewLink *link = cni_view_link(op->look->pod, name);
		const CniInterface *made = interface_find(own, name);
		const CniInterface *told = interface_find(op->request->previous, name);

		ok = !link || !made ||
		     interface_check(link, told && told->mac ? told->mac : made->mac,
				     told && told->mtu ? told->mtu : made->mtu, error);
	}
	return ok;
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
	if (problem || !interfaces_check(op, &problem))
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
