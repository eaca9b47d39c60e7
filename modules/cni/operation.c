/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"
#include "operation.h"

#include <rdmad/clock.h>
#include <rdmad/pod-metadata.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/work.h>

#include "error.h"
#include "journal.h"

static void result_free(gpointer data)
{
	cni_result_free(data);
}

static void device_unref(gpointer data)
{
	rdmad_device_unref(data);
}

static CniOperation *operation_new(Cni *cni, const char *network, const char *container_id,
				   const char *ifname, CniOperationDone done)
{
	CniOperation *op = g_new0(CniOperation, 1);

	op->cni = cni;
	op->settings = cni_settings_ref(cni->settings);
	op->key = cni_attachment_key(network ? network : "", container_id ? container_id : "",
				     ifname ? ifname : "");
	op->container_id = g_strdup(container_id ? container_id : "");
	op->netns = -1;
	op->done = done;
	op->began_us = rdmad_now_us();
	op->ended = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_allocation_unref);
	op->devices = g_ptr_array_new_with_free_func(device_unref);
	op->ipam_results = g_ptr_array_new_with_free_func(result_free);
	op->ends = g_array_new(FALSE, TRUE, sizeof(guint));
	return op;
}

CniOperation *cni_operation_new(Cni *cni, CniRequest *request, int netns, const RdmadNetnsId *id,
				CniOperationDone done)
{
	CniOperation *op =
		operation_new(cni, request->network, request->container_id, request->ifname, done);

	op->request = request;
	op->netns = netns;
	op->netns_id = *id;
	return op;
}

CniOperation *cni_operation_new_undo(Cni *cni, const CniAttachment *attachment, gboolean keep,
				     CniOperationDone done)
{
	CniOperation *op = operation_new(cni, attachment->network, attachment->container_id,
					 attachment->ifname, done);

	op->keeps = keep;
	return op;
}

void cni_operation_free(CniOperation *op)
{
	if (!op)
		return;
	cni_add_cancel(op);
	rdmad_pod_query_cancel(op->query);
	cni_look_cancel(op->looking);
	cni_ipam_cancel(op->ipam);
	cni_undo_free(op->undo);
	cni_settings_unref(op->settings);
	rdmad_event_free(op->deadline);
	cni_request_free(op->request);
	g_free(op->key);
	g_free(op->container_id);
	g_free(op->spooled);
	rdmad_clear_fd(&op->netns);
	g_ptr_array_unref(op->ended);
	g_clear_pointer(&op->entries, g_ptr_array_unref);
	g_clear_pointer(&op->choices, g_ptr_array_unref);
	g_ptr_array_unref(op->devices);
	g_ptr_array_unref(op->ipam_results);
	g_array_unref(op->ends);
	cni_look_free(op->look);
	cni_result_free(op->result);
	g_clear_error(&op->problem);
	g_free(op);
}

/* ---- DEL, and undo without a request ---- */

static void undo_done(const GError *error, gpointer data)
{
	CniOperation *op = data;

	op->done(op, NULL, error);
}

/* A DEL older than the attachment: its container has got another namespace since. */
static gboolean is_of_another_namespace(const CniOperation *op, const CniAttachment *attachment)
{
	return op->request && op->netns >= 0 && g_strcmp0(attachment->boot, op->cni->boot) == 0 &&
	       !rdmad_netns_id_equal(&op->netns_id, &attachment->netns_id);
}

static void del_start(CniOperation *op)
{
	CniAttachment *attachment = cni_journal_lookup(op->cni->journal, op->key);

	if (!attachment || is_of_another_namespace(op, attachment)) {
		op->done(op, NULL, NULL);
		return;
	}
	cni_undo_start(op->cni, attachment, op->netns, op->keeps, &op->undo, undo_done, op);
}

/* ---- every operation ---- */

static void deadline_expired(gpointer data)
{
	cni_operation_cancel(data, "rdmad did not come to an end in time");
}

void cni_operation_start(CniOperation *op)
{
	op->is_running = TRUE;
	if (!op->request || op->request->command == CNI_DEL) {
		del_start(op);
		return;
	}
	if (op->cancelled) {
		op->done(op, NULL, op->problem);
		return;
	}
	op->deadline = rdmad_loop_add_timer(rdmad_module_loop(op->cni->self), op->cni->self,
					    deadline_expired, op);
	rdmad_event_arm(op->deadline, (guint)op->settings->request_timeout_ms);
	if (op->request->command == CNI_ADD)
		cni_add_start(op);
	else
		cni_check_start(op);
}

void cni_operation_cancel(CniOperation *op, const char *why)
{
	if (op->cancelled || !op->request || op->request->command == CNI_DEL)
		return;
	op->cancelled = TRUE;
	if (!op->problem)
		cni_refuse(&op->problem, CNI_ERROR_TRY_AGAIN, "%s", why);
	if (!op->is_running)
		return;
	if (op->query) {
		g_clear_pointer(&op->query, rdmad_pod_query_cancel);
		cni_add_fail(op, NULL);
		return;
	}
	/* A look that hangs in the kernel must not delay the answer. */
	if (op->looking) {
		g_clear_pointer(&op->looking, cni_look_cancel);
		cni_add_fail(op, NULL);
		return;
	}
	if (op->ipam)
		cni_ipam_terminate(op->ipam);
	if (op->execution)
		rdmad_executor_cancel(op->cni->executor, op->execution);
}
