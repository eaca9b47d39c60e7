/* SPDX-License-Identifier: Apache-2.0 */
#include "undo.h"

#include <rdmad/allocations.h>
#include <rdmad/error.h>
#include <rdmad/log.h>

#include "error.h"
#include "journal.h"
#include "ipam/ipam.h"

struct CniUndo {
	Cni *cni;
	CniAttachment *attachment;
	int netns; /* the caller's */
	gboolean was_lost, is_left;
	guint nic; /* whose IPAM DEL is next */
	CniIpam *ipam;
	CniUndo **handle; /* the caller's */
	CniUndoDone done;
	gpointer data;
};

static void undo_end(CniUndo *undo, const GError *error)
{
	const CniUndoDone done = undo->done;
	gpointer data = undo->data;

	*undo->handle = NULL;
	g_free(undo);
	done(error, data);
}

void cni_undo_free(CniUndo *undo)
{
	if (!undo)
		return;
	cni_ipam_cancel(undo->ipam);
	g_free(undo);
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

static void finish(CniUndo *undo)
{
	detach(undo->cni, undo->attachment);
	if (!undo->is_left) {
		cni_journal_remove(undo->cni->journal, undo->attachment, removed, undo);
		return;
	}
	undo->attachment->state = CNI_STATE_LEFT;
	cni_journal_write(undo->cni->journal, undo->attachment, removed, undo);
}

/* ---- IPAM ---- */

static void ipam_next(CniUndo *undo);

static void ipam_done(CniResult *result, const GError *error, gpointer data)
{
	CniUndo *undo = data;

	undo->ipam = NULL;
	if (error) {
		undo_end(undo, error);
		return;
	}
	((CniNic *)undo->attachment->nics->pdata[undo->nic])->ipam = FALSE;
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

	while (undo->nic < nics->len && !((CniNic *)nics->pdata[undo->nic])->ipam)
		undo->nic++;
	if (undo->nic == nics->len) {
		finish(undo);
		return;
	}
	call.ifname = ((CniNic *)nics->pdata[undo->nic])->ifname;
	undo->ipam = cni_ipam_start(&call, ipam_done, undo, &error);
	if (!undo->ipam)
		undo_end(undo, error);
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

void cni_undo_start(Cni *cni, CniAttachment *attachment, int netns, CniUndo **handle,
		    CniUndoDone done, gpointer data)
{
	CniUndo *undo = g_new0(CniUndo, 1);

	*undo = (CniUndo){ .cni = cni,
			   .attachment = attachment,
			   .netns = netns,
			   .handle = handle,
			   .done = done,
			   .data = data };
	*handle = undo;
	/* Another boot made the NICs again; only what IPAM wrote has lasted. */
	if (!attachment->steps || g_strcmp0(attachment->boot, cni->boot) != 0)
		ipam_next(undo);
	else
		steps_start(undo);
}
