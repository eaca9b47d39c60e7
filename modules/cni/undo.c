/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"

#include <rdmad/allocations.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>

#include "error.h"
#include "journal.h"
#include "ipam/ipam.h"

struct CniUndo {
	Cni *cni;
	CniAttachment *attachment;
	int netns; /* of the caller, or `found` */
	int found; /* opened by the executor; -1: none */
	gboolean keep, was_lost, is_left;
	guint nic; /* the NIC whose IPAM DEL is next */
	CniIpam *ipam;
	GError *problem;  /* of the IPAM plugin */
	CniUndo **handle; /* the caller's pointer */
	CniUndoDone done;
	gpointer data;
};

void cni_undo_free(CniUndo *undo)
{
	if (!undo)
		return;
	cni_ipam_cancel(undo->ipam);
	rdmad_clear_fd(&undo->found);
	g_clear_error(&undo->problem);
	g_free(undo);
}

static void undo_end(CniUndo *undo, const GError *error)
{
	const CniUndoDone done = undo->done;
	gpointer data = undo->data;
	g_autoptr(GError) problem = g_steal_pointer(&undo->problem);

	*undo->handle = NULL;
	cni_undo_free(undo);
	done(problem ? problem : error, data);
}

/* ---- the journal and the allocations ---- */

static void detach(Cni *cni, const CniAttachment *attachment)
{
	for (guint i = 0; i < attachment->nics->len; i++) {
		const CniNic *nic = attachment->nics->pdata[i];
		g_autoptr(GError) error = NULL;

		if (nic->allocation &&
		    !rdmad_allocations_detach(rdmad_module_allocations(cni->self), nic->allocation,
					      attachment->netns, nic->ifname, &error) &&
		    !g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
			rdmad_warn("%s of %s: %s", nic->ifname, attachment->container_id,
				   error->message);
	}
}

static void removed(const GError *error, gpointer data)
{
	undo_end(data, error);
}

/* Steps that were undone must not be undone again: the NIC may be another pod's by then. */
static void steps_forget(CniAttachment *attachment)
{
	g_clear_pointer(&attachment->steps, g_free);
	attachment->state = CNI_STATE_PLANNED;
}

/* A runtime repeats an ADD that the end of rdmad interrupted, also after the allocation has ended.
 * The record alone shows then that the pod is not one without devices. */
static gboolean is_awaited(const CniUndo *undo)
{
	return undo->keep && undo->attachment->state != CNI_STATE_LEFT &&
	       !cni_attachment_netns_is_gone(undo->attachment, undo->cni->boot);
}

static void finish(CniUndo *undo)
{
	CniAttachment *attachment = undo->attachment;
	const gboolean is_kept = undo->is_left || is_awaited(undo);

	detach(undo->cni, attachment);
	if (!undo->is_left)
		steps_forget(attachment);
	if (is_kept) {
		attachment->state = undo->is_left ? CNI_STATE_LEFT : CNI_STATE_UNDONE;
		cni_journal_write(undo->cni->journal, attachment, removed, undo);
	} else {
		cni_journal_remove(undo->cni->journal, attachment, removed, undo);
	}
}

/* ---- IPAM ---- */

static void ipam_next(CniUndo *undo);

/* The NICs are free for other pods. */
static void ipam_fail(CniUndo *undo, const GError *error)
{
	CniAttachment *attachment = undo->attachment;

	undo->problem = g_error_copy(error);
	detach(undo->cni, attachment);
	if (!undo->is_left)
		steps_forget(attachment);
	cni_journal_write(undo->cni->journal, attachment, removed, undo);
}

/* The ADD was refused, or was not waited for and has the version that the plugin refuses now. */
static gboolean ipam_has_given_nothing(const CniUndo *undo, const CniNic *nic, const GError *error)
{
	return nic->refused || (undo->attachment->state == CNI_STATE_BEGUN &&
				g_error_matches(error, CNI_ERROR, CNI_ERROR_VERSION));
}

static void ipam_done(CniResult *result, const GError *error, gpointer data)
{
	CniUndo *undo = data;
	CniNic *nic = undo->attachment->nics->pdata[undo->nic];

	undo->ipam = NULL;
	if (error && !ipam_has_given_nothing(undo, nic, error)) {
		ipam_fail(undo, error);
		return;
	}
	if (error)
		rdmad_warn("%s of container %.12s, to which the IPAM plugin gave no address: %s",
			   nic->ifname, undo->attachment->container_id, error->message);
	nic->ipam = FALSE;
	undo->nic++;
	ipam_next(undo);
}

static void ipam_next(CniUndo *undo)
{
	const GPtrArray *nics = undo->attachment->nics;
	g_autoptr(GError) error = NULL;
	CniIpamCall call = { .self = undo->cni->self,
			     .settings = undo->cni->settings,
			     .records = undo->cni->ipam_records,
			     .command = CNI_DEL,
			     .attachment = undo->attachment,
			     .netns = undo->netns >= 0 ? undo->attachment->netns : NULL };

	undo->nic = cni_attachment_next_ipam(undo->attachment, undo->nic);
	if (undo->nic == nics->len) {
		finish(undo);
		return;
	}
	call.nic = nics->pdata[undo->nic];
	undo->ipam = cni_ipam_start(&call, ipam_done, undo, &error);
	if (!undo->ipam)
		ipam_fail(undo, error);
}

/* ---- steps ---- */

static void steps_start(CniUndo *undo);

static void steps_done(const RdmadExecutorReport *report, const GError *error, gpointer data)
{
	CniUndo *undo = data;

	cni_stats_report(undo->cni->stats, report);
	if (!undo->was_lost && g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE)) {
		undo->was_lost = TRUE;
		steps_start(undo);
		return;
	}
	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_GONE)) {
		rdmad_warn("%s of container %.12s: %s", undo->attachment->ifname,
			   undo->attachment->container_id, error->message);
		undo->is_left = TRUE;
	} else if (error) {
		undo_end(undo, error);
		return;
	}
	ipam_next(undo);
}

static void steps_start(CniUndo *undo)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_executor_run(undo->cni->executor, RDMAD_EXECUTE_UNDO, undo->attachment->steps,
				undo->netns, steps_done, undo, &error))
		undo_end(undo, error);
}

/* ---- the namespace ---- */

static void undo_begin(CniUndo *undo)
{
	if (undo->attachment->steps)
		steps_start(undo);
	else
		ipam_next(undo);
}

static void netns_open(CniUndo *undo);

/* The namespace has ended only if the path leads elsewhere or does not exist; other errors may
 * pass. */
static void netns_opened(int *fds, guint n, const GError *error, gpointer data)
{
	CniUndo *undo = data;
	g_autoptr(GError) why = NULL;
	RdmadNetnsId id;

	if (g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE) && !undo->was_lost) {
		undo->was_lost = TRUE;
		netns_open(undo);
		return;
	}
	if (n > 0 && rdmad_netns_check(fds[0], &id, &why) &&
	    rdmad_netns_id_equal(&id, &undo->attachment->netns_id))
		undo->netns = undo->found = rdmad_steal_fd(&fds[0]);
	error = error ?: why;
	if (error && !rdmad_netns_is_gone(error)) {
		undo_end(undo, error);
		return;
	}
	undo_begin(undo);
}

static void netns_open(CniUndo *undo)
{
	g_autoptr(GError) error = NULL;

	if (!rdmad_executor_open_netns(undo->cni->executor, undo->attachment->netns, netns_opened,
				       undo, &error))
		undo_end(undo, error);
}

void cni_undo_start(Cni *cni, CniAttachment *attachment, int netns, gboolean keep, CniUndo **handle,
		    CniUndoDone done, gpointer data)
{
	CniUndo *undo = g_new0(CniUndo, 1);

	*undo = (CniUndo){ .cni = cni,
			   .attachment = attachment,
			   .netns = netns,
			   .found = -1,
			   .keep = keep,
			   .handle = handle,
			   .done = done,
			   .data = data };
	*handle = undo;
	/* The boot undid the steps.  Only the state of IPAM plugins has survived it. */
	if (g_strcmp0(attachment->boot, cni->boot) != 0)
		ipam_next(undo);
	else if (netns < 0 && attachment->netns)
		netns_open(undo);
	else
		undo_begin(undo);
}
