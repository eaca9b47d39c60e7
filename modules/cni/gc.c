/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"

#include <jansson.h>
#include <rdmad/loop.h>

#include "error.h"
#include "ipam/ipam.h"
#include "journal.h"
#include "server.h"

struct CniGc {
	Cni *cni;
	CniRequest *request;
	GHashTable *awaited; /* keys of attachments being undone */
	gboolean started;
	GError *problem;	/* the first error */
	CniAttachment *network; /* represents the network to its IPAM plugin */
	CniIpam *ipam;
	RdmadEvent *deadline;
	CniGcDone done;
	gpointer data;
};

static void gc_end(CniGc *gc)
{
	gc->done(gc, gc->problem, gc->data);
}

/* ---- selection ---- */

static gboolean is_valid(const CniRequest *request, const CniAttachment *attachment)
{
	for (guint i = 0; i < request->valid->len; i++) {
		const CniAttachmentKey *key = &g_array_index(request->valid, CniAttachmentKey, i);

		if (g_strcmp0(key->container_id, attachment->container_id) == 0 &&
		    g_strcmp0(key->ifname, attachment->ifname) == 0)
			return TRUE;
	}
	return FALSE;
}

gboolean cni_gc_collects(const CniGc *gc, const CniAttachment *attachment)
{
	return g_strcmp0(attachment->network, gc->request->network) == 0 &&
	       !is_valid(gc->request, attachment);
}

/* ---- IPAM ---- */

static void valid_append(json_t *list, const char *container_id, const char *ifname)
{
	json_array_append_new(
		list, json_pack("{s:s, s:s}", "containerID", container_id, "ifname", ifname));
}

typedef struct {
	const CniRequest *request;
	json_t *list;
} Valid;

/* The plugin knows NICs.  An attachment of a chained plugin has several, none with its own name. */
static void nics_append(CniAttachment *attachment, gpointer data)
{
	const Valid *valid = data;

	if (g_strcmp0(attachment->network, valid->request->network) != 0)
		return;
	for (guint i = 0; i < attachment->nics->len; i++)
		valid_append(valid->list, attachment->container_id,
			     ((CniNic *)attachment->nics->pdata[i])->ifname);
}

/* By now the journal has only valid attachments of the network: the others are undone. */
static void config_rewrite(const CniGc *gc)
{
	const CniRequest *request = gc->request;
	Valid valid = { request, json_array() };

	for (guint i = 0; i < request->valid->len; i++) {
		const CniAttachmentKey *key = &g_array_index(request->valid, CniAttachmentKey, i);

		valid_append(valid.list, key->container_id, key->ifname);
	}
	cni_journal_foreach(gc->cni->journal, nics_append, &valid);
	json_object_set(request->config, CNI_VALID_ATTACHMENTS, valid.list);
	json_object_set_new(request->config, CNI_OLDER_ATTACHMENTS, valid.list);
}

static void ipam_done(CniResult *result, const GError *error, gpointer data)
{
	CniGc *gc = data;

	gc->ipam = NULL;
	if (error)
		gc->problem = g_error_copy(error);
	gc_end(gc);
}

static void ipam_start(CniGc *gc)
{
	const RdmadNetnsId none = { 0 };
	CniIpamCall call = { .self = gc->cni->self,
			     .settings = gc->cni->settings,
			     .records = gc->cni->ipam_records,
			     .command = CNI_GC };

	config_rewrite(gc);
	gc->network = cni_attachment_new(gc->request, &none, gc->cni->boot);
	call.attachment = gc->network;
	gc->ipam = cni_ipam_start(&call, ipam_done, gc, &gc->problem);
	if (!gc->ipam)
		gc_end(gc);
}

/* ---- the GC ---- */

/* The IPAM plugin frees the leases of NICs that its list lacks, so an ADD that may get one is
 * either in the list or not running: those that run without an attachment end first, and later ones
 * are held. */
gboolean cni_gc_holds(const CniGc *gc, const CniRequest *add)
{
	return gc->started && !g_hash_table_size(gc->awaited) && gc->request->ipam_type &&
	       add->ipam_type && g_strcmp0(add->network, gc->request->network) == 0;
}

/* After a failed undo, the IPAM plugin is not called: the lease must stay. */
static void gc_continue(CniGc *gc)
{
	if (!gc->started || g_hash_table_size(gc->awaited) || gc->ipam)
		return;
	if (gc->problem || !gc->request->ipam_type)
		gc_end(gc);
	else if (!cni_server_is_choosing(gc->cni->server, gc))
		ipam_start(gc);
}

void cni_gc_cancel(CniGc *gc, const char *why)
{
	g_clear_pointer(&gc->ipam, cni_ipam_cancel);
	g_clear_error(&gc->problem);
	cni_refuse(&gc->problem, CNI_ERROR_TRY_AGAIN, "%s; %u attachments are not undone yet", why,
		   g_hash_table_size(gc->awaited));
	gc_end(gc);
}

static void deadline_expired(gpointer data)
{
	cni_gc_cancel(data, "the collection did not end in time");
}

CniGc *cni_gc_new(Cni *cni, CniRequest *request, CniGcDone done, gpointer data)
{
	CniGc *gc = g_new0(CniGc, 1);

	gc->cni = cni;
	gc->request = request;
	gc->awaited = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	gc->deadline =
		rdmad_loop_add_timer(rdmad_module_loop(cni->self), cni->self, deadline_expired, gc);
	gc->done = done;
	gc->data = data;
	rdmad_event_arm(gc->deadline, (guint)cni->settings->request_timeout_ms);
	return gc;
}

void cni_gc_free(CniGc *gc)
{
	cni_ipam_cancel(gc->ipam);
	rdmad_event_free(gc->deadline);
	cni_request_free(gc->request);
	cni_attachment_free(gc->network);
	g_hash_table_unref(gc->awaited);
	g_clear_error(&gc->problem);
	g_free(gc);
}

void cni_gc_await(CniGc *gc, const char *key)
{
	g_hash_table_add(gc->awaited, g_strdup(key));
}

void cni_gc_start(CniGc *gc)
{
	gc->started = TRUE;
	gc_continue(gc);
}

void cni_gc_ended(CniGc *gc, const char *key, const GError *error)
{
	if (g_hash_table_remove(gc->awaited, key) && error && !gc->problem)
		gc->problem = g_error_copy(error);
	gc_continue(gc);
}
