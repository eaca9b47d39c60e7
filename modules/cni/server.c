/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <rdmad/allocations.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/event-log.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/message-socket.h>
#include <rdmad/netns.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"
#include "host-network.h"
#include "ipam/ipam.h"
#include "journal.h"
#include "message.h"
#include "operation.h"
#include "spool.h"

#define PEERS_MAX  2048u
#define SEND_MS	   10000u /* for a caller to send its request */
#define RETRY_MS   30000u /* delay of a retry */
#define DRAIN_MS   5000u  /* of the ten seconds of a stop; the rest is for undoing */
#define CHANGED_MS 5000u  /* for the DELs of a pod that ended to arrive */
#define FIRST_MS   5000u  /* that ADDs wait for the first try of a leftover */

struct CniServer {
	Cni *cni;
	char *path;
	RdmadMessageServer *socket;
	GQueue operations; /* of CniOperation, in their order */
	guint running;	   /* ADDs and CHECKs */
	CniSpool *spool;
	GPtrArray *collections;		/* of Collection */
	GPtrArray *statuses;		/* of Status */
	void (*drained)(gpointer data); /* not NULL: rdmad is stopping */
	gpointer drained_data;
	RdmadEvent *drain_limit, *drain_end;
	RdmadEvent *retry, *schedule;
};

/* A GC and its caller. */
typedef struct {
	CniServer *server;
	CniGc *gc;
	RdmadMessagePeer *peer; /* NULL: the caller closed the connection, or is answered */
	CniVersion version;
	gint64 began_us;
} Collection;

/* A STATUS whose IPAM plugin is asked. */
typedef struct {
	CniServer *server;
	RdmadMessagePeer *peer;
	CniVersion version;
	CniAttachment *network; /* represents the network to its plugin */
	CniIpam *ipam;
} Status;

/* ---- answers ---- */

/* Returns FALSE if the answer could not be sent.  The caller sees the end of the connection, and
 * retries or gives up. */
static gboolean peer_answer(RdmadMessagePeer *peer, int status, const char *text)
{
	g_autoptr(GError) error = NULL;
	rdmad_autofd int fd = -1;
	g_autoptr(GByteArray) answer = cni_answer_new(status, text, &fd, &error);

	if (answer &&
	    rdmad_message_peer_send(peer, answer->data, answer->len, &fd, fd >= 0, &error))
		return TRUE;
	rdmad_info("an answer could not be given: %s", error->message);
	rdmad_message_peer_close(peer);
	return FALSE;
}

static void peer_answer_error(RdmadMessagePeer *peer, const GError *problem, CniVersion version)
{
	g_autofree char *text = cni_error_text(problem, version);

	peer_answer(peer, 1, text);
}

static void failure_report(const CniOperation *op, const GError *error)
{
	const CniRequest *request = op->request;
	g_autofree char *pod =
		request && request->pod_name
			? g_strconcat(request->pod_namespace, "/", request->pod_name, NULL)
			: NULL;
	const RdmadLogFields about = { .pod = pod };

	rdmad_event_log_post(rdmad_module_event_log(op->cni->self), RDMAD_LOG_WARNING, "cni-failed",
			     &about, "%s of container %.12s: %s",
			     request ? cni_command_name(request->command) : "undo",
			     op->container_id, error->message);
}

/* ---- the order ---- */

static void schedule_soon(CniServer *server)
{
	rdmad_event_arm(server->schedule, 0);
}

static gboolean is_limited(const CniOperation *op)
{
	return op->request && op->request->command != CNI_DEL;
}

static void undo_queue(CniServer *server, const CniAttachment *attachment, gboolean keep);

static void drain_check(CniServer *server);

/* A collection that this notifies may end and leave the array. */
static void collections_notify(CniServer *server, const char *key, const GError *error)
{
	for (guint i = server->collections->len; i-- > 0;)
		cni_gc_ended(((Collection *)server->collections->pdata[i])->gc, key, error);
}

static void operation_done(CniOperation *op, const char *text, const GError *error)
{
	CniServer *server = op->cni->server;
	const char *command = op->request ? cni_command_name(op->request->command) : "undo";
	const gboolean made = op->request && op->request->command == CNI_ADD && !error;
	CniAttachment *attachment = cni_journal_lookup(op->cni->journal, op->key);
	const gboolean is_left = attachment && attachment->state == CNI_STATE_LEFT;
	g_autofree char *key = g_strdup(op->key);
	g_autoptr(GError) problem = error ? g_error_copy(error) : NULL;
	gboolean answered = TRUE;

	cni_stats_count(op->cni->stats, command, error ? cni_error_code(error) : 0,
			(double)(rdmad_now_us() - op->began_us) / G_USEC_PER_SEC);
	if (error)
		failure_report(op, error);
	if (op->peer && error)
		peer_answer_error(op->peer, error, op->request->version);
	else if (op->peer)
		answered = peer_answer(op->peer, 0, text);
	if ((op->spooled && !cni_spool_end(server->spool, op->spooled, !error)) ||
	    (error && !is_limited(op)) || is_left)
		rdmad_event_arm_within(server->retry, RETRY_MS);
	if (attachment)
		attachment->undo_failed = is_left || (error && !is_limited(op));
	server->running -= is_limited(op);
	g_queue_remove(&server->operations, op);
	cni_operation_free(op);
	if (made && !answered && attachment)
		undo_queue(server, attachment, TRUE);
	if (made && answered)
		cni_spool_forget(server->spool, key);
	collections_notify(server, key, problem);
	schedule_soon(server);
	drain_check(server);
}

static gboolean is_leftover(const CniOperation *op)
{
	return !op->request || op->spooled;
}

/* Queues the leftover before the ADD of its own container, which then waits for it. */
static void leftover_add(CniServer *server, CniOperation *op)
{
	g_queue_push_head(&server->operations, op);
	schedule_soon(server);
}

/* Returns the milliseconds that ADDs still wait for an operation.  Each leftover gets a first try,
 * so that an ADD finds what that frees, but one that failed before or takes longer is left behind.
 * Until it ends, its NICs are used in the journal, its IPAM plugin has its addresses, and
 * operations of its container wait. */
static guint leftover_ms(const CniOperation *op)
{
	const gint64 ms = (rdmad_now_us() - op->began_us) / 1000;

	return !is_leftover(op) || op->again || ms >= FIRST_MS ? 0 : FIRST_MS - (guint)ms;
}

static gboolean leftovers_are_tried(CniServer *server)
{
	for (const GList *l = server->operations.head; l; l = l->next) {
		const guint ms = leftover_ms(l->data);

		if (!ms)
			continue;
		rdmad_event_arm_within(server->schedule, ms);
		return FALSE;
	}
	return cni_spool_is_read(server->spool);
}

static gboolean is_held_by_gc(const CniServer *server, const CniOperation *op)
{
	for (guint i = 0; i < server->collections->len; i++)
		if (cni_gc_holds(((Collection *)server->collections->pdata[i])->gc, op->request))
			return TRUE;
	return FALSE;
}

static gboolean may_start(CniServer *server, const CniOperation *op, GHashTable *containers)
{
	if (op->is_running || !g_hash_table_add(containers, op->container_id))
		return FALSE;
	if (!is_limited(op) || op->cancelled)
		return TRUE;
	return server->running < (guint)server->cni->settings->requests &&
	       (op->request->command != CNI_ADD ||
		(!is_held_by_gc(server, op) && leftovers_are_tried(server)));
}

/* A container has one running operation, also where a leftover was queued before that one. */
static CniOperation *next_operation(CniServer *server)
{
	g_autoptr(GHashTable) containers = g_hash_table_new(g_str_hash, g_str_equal);

	for (const GList *l = server->operations.head; l; l = l->next)
		if (((CniOperation *)l->data)->is_running)
			g_hash_table_add(containers, ((CniOperation *)l->data)->container_id);
	for (GList *l = server->operations.head; l; l = l->next)
		if (may_start(server, l->data, containers))
			return l->data;
	return NULL;
}

static void schedule(gpointer data)
{
	CniServer *server = data;
	CniOperation *op;

	while ((op = next_operation(server))) {
		server->running += is_limited(op);
		cni_operation_start(op);
	}
}

/* ---- GC, STATUS and VERSION ---- */

static gboolean has_operation(const CniServer *server, const CniAttachment *attachment)
{
	g_autofree char *key = cni_attachment_key(attachment->network, attachment->container_id,
						  attachment->ifname);

	for (const GList *l = server->operations.head; l; l = l->next)
		if (g_str_equal(((CniOperation *)l->data)->key, key))
			return TRUE;
	return FALSE;
}

static void undo_queue(CniServer *server, const CniAttachment *attachment, gboolean keep)
{
	CniOperation *op;

	if (has_operation(server, attachment))
		return;
	op = cni_operation_new_undo(server->cni, attachment, keep, operation_done);
	op->again = attachment->undo_failed;
	leftover_add(server, op);
}

/* The runtime's list lacks an attachment whose ADD is running.  An undo by a DEL is waited for. */
static gboolean is_being_made(const CniServer *server, const char *key)
{
	for (const GList *l = server->operations.head; l; l = l->next) {
		const CniOperation *op = l->data;

		if (is_limited(op) && g_str_equal(op->key, key))
			return TRUE;
	}
	return FALSE;
}

static void collect(CniAttachment *attachment, gpointer data)
{
	const Collection *collection = data;
	g_autofree char *key = cni_attachment_key(attachment->network, attachment->container_id,
						  attachment->ifname);

	if (!cni_gc_collects(collection->gc, attachment) || is_being_made(collection->server, key))
		return;
	cni_gc_await(collection->gc, key);
	undo_queue(collection->server, attachment, FALSE);
}

gboolean cni_server_is_choosing(const CniServer *server, const CniGc *gc)
{
	for (const GList *l = server->operations.head; l; l = l->next) {
		const CniOperation *op = l->data;

		if (op->is_running && op->request && op->request->command == CNI_ADD &&
		    !op->attachment && cni_gc_holds(gc, op->request))
			return TRUE;
	}
	return FALSE;
}

static void collected(CniGc *gc, const GError *error, gpointer data)
{
	Collection *collection = data;
	CniServer *server = collection->server;
	RdmadMessagePeer *peer = g_steal_pointer(&collection->peer);

	cni_stats_count(server->cni->stats, cni_command_name(CNI_GC),
			error ? cni_error_code(error) : 0,
			(double)(rdmad_now_us() - collection->began_us) / G_USEC_PER_SEC);
	if (peer && error)
		peer_answer_error(peer, error, collection->version);
	else if (peer)
		peer_answer(peer, 0, NULL);
	g_ptr_array_remove(server->collections, collection);
	schedule_soon(server);
	drain_check(server);
}

static void collection_free(gpointer data)
{
	Collection *collection = data;

	cni_gc_free(collection->gc);
	g_free(collection);
}

static void gc(CniServer *server, RdmadMessagePeer *peer, CniRequest *request)
{
	Collection *collection = g_new(Collection, 1);

	*collection = (Collection){ .server = server,
				    .gc = cni_gc_new(server->cni, request, collected, collection),
				    .peer = peer,
				    .version = request->version,
				    .began_us = rdmad_now_us() };
	g_ptr_array_add(server->collections, collection);
	cni_journal_foreach(server->cni->journal, collect, collection);
	schedule_soon(server);
	cni_gc_start(collection->gc);
}

static void status_free(gpointer data)
{
	Status *status = data;

	cni_ipam_cancel(status->ipam);
	cni_attachment_free(status->network);
	g_free(status);
}

static void status_got(CniResult *result, const GError *error, gpointer data)
{
	Status *status = data;
	RdmadMessagePeer *peer = status->peer;
	const CniVersion version = status->version;

	status->ipam = NULL;
	g_ptr_array_remove(status->server->statuses, status);
	if (error)
		peer_answer_error(peer, error, version);
	else
		peer_answer(peer, 0, NULL);
}

/* rdmad is ready; the specification requires that a plugin to which ADD delegates is, too. */
static void status_ask(CniServer *server, RdmadMessagePeer *peer, const CniRequest *request)
{
	const Cni *cni = server->cni;
	const RdmadNetnsId none = { 0 };
	g_autoptr(GError) error = NULL;
	Status *status = g_new0(Status, 1);
	CniIpamCall call = { .self = cni->self,
			     .settings = cni->settings,
			     .records = cni->ipam_records,
			     .command = CNI_STATUS };

	*status = (Status){ .server = server, .peer = peer, .version = request->version };
	call.attachment = status->network = cni_attachment_new(request, &none, cni->boot);
	if (server->statuses->len < (guint)cni->settings->requests)
		status->ipam = cni_ipam_start(&call, status_got, status, &error);
	else
		cni_refuse(&error, CNI_ERROR_TRY_AGAIN, "%u STATUS wait for their IPAM plugins",
			   server->statuses->len);
	g_ptr_array_add(server->statuses, status);
	if (!status->ipam)
		status_got(NULL, error, status);
}

static void version(RdmadMessagePeer *peer, const CniRequest *request)
{
	g_autofree char *list = g_strjoinv("\",\"", (char **)cni_versions);
	g_autofree char *text =
		g_strdup_printf("{\"cniVersion\":\"%s\",\"supportedVersions\":[\"%s\"]}",
				cni_versions[request->version], list);

	peer_answer(peer, 0, text);
}

/* ---- ADD, DEL, CHECK ---- */

static void attachment_cancel(CniServer *server, const char *key)
{
	for (const GList *l = server->operations.head, *next; l; l = next) {
		CniOperation *op = l->data;

		next = l->next;
		if (g_str_equal(op->key, key))
			cni_operation_cancel(op, "a DEL of the same attachment came");
	}
}

static void operation_add(CniServer *server, RdmadMessagePeer *peer, CniRequest *request, int netns,
			  const RdmadNetnsId *id)
{
	CniOperation *op = cni_operation_new(server->cni, request, netns, id, operation_done);

	op->peer = peer;
	if (request->command == CNI_DEL)
		attachment_cancel(server, op->key);
	g_queue_push_tail(&server->operations, op);
	schedule_soon(server);
}

/* The pod uses the host's network, so it already has its NICs. */
static void host_network(CniServer *server, RdmadMessagePeer *peer, const CniRequest *request)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text =
		request->command == CNI_ADD
			? cni_result_answer(request->previous, request->version, &error)
			: NULL;

	cni_host_network_report(server->cni, request->pod_namespace, request->pod_name,
				request->container_id);
	if (error)
		peer_answer_error(peer, error, request->version);
	else
		peer_answer(peer, 0, text);
}

/* Sets `fd` to the namespace, or to -1 if the command does not need one.
 * CNI_ERROR_TRY_AGAIN: whether the descriptor is a namespace is not known. */
static gboolean netns_take(const CniRequest *request, RdmadMessage *message, gboolean has_netns,
			   int *fd, RdmadNetnsId *id, GError **error)
{
	g_autoptr(GError) why = NULL;

	*fd = -1;
	*id = (RdmadNetnsId){ 0 };
	if (has_netns && rdmad_netns_check(message->fds[0], id, &why)) {
		*fd = rdmad_steal_fd(&message->fds[0]);
		return TRUE;
	}
	if (why && !rdmad_netns_is_gone(why))
		return cni_refuse(error, CNI_ERROR_TRY_AGAIN, "CNI_NETNS: %s", why->message);
	return request->command == CNI_DEL || cni_refuse(error, CNI_ERROR_NETNS, "CNI_NETNS: %s",
							 why ? why->message : "there is none");
}

static gboolean is_of_host(const RdmadMessage *message, gboolean has_netns)
{
	rdmad_autofd int own = -1;
	RdmadNetnsId id, host;
	struct stat st;

	if (!has_netns || fstat(message->fds[0], &st) < 0)
		return FALSE;
	id = (RdmadNetnsId){ st.st_dev, st.st_ino };
	own = rdmad_netns_open_own(&host, NULL);
	return own >= 0 && rdmad_netns_id_equal(&id, &host);
}

static gboolean queue_check(const CniServer *server, const CniRequest *request, GError **error)
{
	const guint max = (guint)(server->cni->settings->requests + server->cni->settings->queue);

	if (server->drained && request->command != CNI_DEL)
		return cni_refuse(error, CNI_ERROR_TRY_AGAIN, "rdmad is stopping");
	return request->command == CNI_DEL || server->operations.length < max ||
	       cni_refuse(error, CNI_ERROR_TRY_AGAIN, "%u requests are waiting already", max);
}

static void dispatch(CniServer *server, RdmadMessagePeer *peer, CniRequest *request,
		     RdmadMessage *message, gboolean has_netns)
{
	g_autoptr(CniRequest) mine = request;
	g_autoptr(GError) error = NULL;
	RdmadNetnsId id;
	int fd;

	if (request->command == CNI_VERSION)
		version(peer, request);
	else if (request->is_void)
		peer_answer(peer, 0, NULL);
	else if (request->command == CNI_STATUS && (server->drained || !request->ipam_type))
		peer_answer(peer, 0, NULL);
	else if (request->command == CNI_STATUS)
		status_ask(server, peer, request);
	else if (request->command != CNI_DEL && request->previous && is_of_host(message, has_netns))
		host_network(server, peer, request);
	else if (!queue_check(server, request, &error))
		peer_answer_error(peer, error, request->version);
	else if (request->command == CNI_GC)
		gc(server, peer, g_steal_pointer(&mine));
	else if (!netns_take(request, message, has_netns, &fd, &id, &error))
		peer_answer_error(peer, error, request->version);
	else
		operation_add(server, peer, g_steal_pointer(&mine), fd, &id);
}

/* ---- the socket ---- */

static void peer_message(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	CniServer *server = data;
	g_auto(CniMessage) read = { 0 };
	g_autoptr(CniRequest) request = NULL;
	g_autoptr(GError) error = NULL;

	if (!cni_message_read(message->bytes, message->size, message->fds, message->n_fds, &read,
			      &error)) {
		peer_answer_error(peer, error, CNI_NEWEST);
		return;
	}
	request = cni_request_parse(read.environment, read.environment_length, read.input,
				    read.input_length, &error);
	if (error)
		peer_answer_error(peer, error, request->version);
	else
		dispatch(server, peer, g_steal_pointer(&request), message, read.has_netns);
}

static void peer_closed(RdmadMessagePeer *peer, gpointer data)
{
	CniServer *server = data;

	for (const GList *l = server->operations.head, *next; l; l = next) {
		CniOperation *op = l->data;

		next = l->next;
		if (op->peer != peer)
			continue;
		op->peer = NULL;
		cni_operation_cancel(op, "the caller hung up");
	}
	for (guint i = server->statuses->len; i-- > 0;)
		if (((Status *)server->statuses->pdata[i])->peer == peer)
			g_ptr_array_remove_index(server->statuses, i);
	for (guint i = server->collections->len; i-- > 0;) {
		Collection *collection = server->collections->pdata[i];

		if (collection->peer != peer)
			continue;
		/* The runtime takes its GC for ended, and its list is old by the next ADD. */
		collection->peer = NULL;
		cni_gc_cancel(collection->gc, "the caller hung up");
	}
}

static const RdmadMessageOps peer_ops = { peer_message, peer_closed };

/* ---- leftovers ---- */

/* A DEL without an attachment has no effect, unless the attachment is being made: most are of a
 * runtime whose ADDs failed without rdmad.  A record of another boot or namespace than the current
 * attachment belongs to an earlier attachment.  A record without a boot, which earlier versions
 * wrote, may be of this one. */
static gboolean spooled_has_effect(const CniServer *server, const CniMessage *read,
				   const CniOperation *op)
{
	const Cni *cni = server->cni;
	const CniAttachment *existing = cni_journal_lookup(cni->journal, op->key);

	if (!existing)
		return is_being_made(server, op->key);
	return !((existing->boot && read->boot_id[0] != '\0' &&
		  g_strcmp0(read->boot_id, existing->boot) != 0 &&
		  g_strcmp0(existing->boot, cni->boot) == 0) ||
		 (read->netns_inode && (read->netns_inode != existing->netns_id.inode ||
					read->netns_device != existing->netns_id.device)));
}

static char *spooled_take(const char *name, const CniMessage *read, gboolean again, gpointer data)
{
	CniServer *server = data;
	Cni *cni = server->cni;
	g_autoptr(GError) error = NULL;
	g_autoptr(CniRequest) request =
		cni_request_parse(read->environment, read->environment_length, read->input,
				  read->input_length, &error);
	const RdmadNetnsId id = { (dev_t)read->netns_device, (ino_t)read->netns_inode };
	CniOperation *op;

	if (error || request->command != CNI_DEL)
		rdmad_warn("spooled DEL %s: %s", name, error ? error->message : "it is none");
	if (error || request->command != CNI_DEL || request->is_void)
		return NULL;
	op = cni_operation_new(cni, g_steal_pointer(&request), -1, &id, operation_done);
	if (!spooled_has_effect(server, read, op)) {
		cni_operation_free(op);
		return NULL;
	}
	op->spooled = g_strdup(name);
	op->again = again;
	leftover_add(server, op);
	return g_strdup(op->key);
}

static void spool_is_read(gpointer data)
{
	schedule_soon(data);
}

static const CniSpoolOps spool_ops = { spooled_take, spool_is_read };

typedef struct {
	CniServer *server;
	gboolean at_start;
} Reconcile;

static gboolean has_ended(const CniAttachment *attachment, const Reconcile *reconcile)
{
	return (attachment->state != CNI_STATE_DONE && attachment->state != CNI_STATE_UNDONE) ||
	       cni_attachment_netns_is_gone(attachment, reconcile->server->cni->boot);
}

static void allocations_reattach(Cni *cni, const CniAttachment *attachment)
{
	for (guint i = 0; i < attachment->nics->len; i++) {
		const CniNic *nic = attachment->nics->pdata[i];
		const RdmadAttachment made = { attachment->netns, nic->ifname, nic->rdma_device,
					       nic->addresses, nic->gid_index };

		if (nic->allocation)
			rdmad_allocations_attach(rdmad_module_allocations(cni->self),
						 nic->allocation, &made, NULL);
	}
}

static void reconcile_one(CniAttachment *attachment, gpointer data)
{
	const Reconcile *reconcile = data;

	if (has_operation(reconcile->server, attachment))
		return;
	if (has_ended(attachment, reconcile))
		undo_queue(reconcile->server, attachment, TRUE);
	else if (reconcile->at_start && attachment->state == CNI_STATE_DONE)
		allocations_reattach(reconcile->server->cni, attachment);
}

void cni_server_reconcile(CniServer *server, gboolean at_start)
{
	Reconcile reconcile = { server, at_start };

	cni_journal_foreach(server->cni->journal, reconcile_one, &reconcile);
	schedule_soon(server);
}

static void retry(gpointer data)
{
	CniServer *server = data;

	cni_server_reconcile(server, FALSE);
	cni_spool_again(server->spool);
}

void cni_server_note_end(CniServer *server, const RdmadAllocation *allocation)
{
	for (const GList *l = server->operations.head; l; l = l->next)
		cni_add_note_end(l->data, allocation);
}

void cni_server_hint(CniServer *server)
{
	rdmad_event_arm_within(server->retry, CHANGED_MS);
}

/* ---- the end ---- */

static void drain_check(CniServer *server)
{
	if (!server->drained || server->operations.length || server->collections->len ||
	    rdmad_event_armed(server->drain_end))
		return;
	rdmad_event_arm(server->drain_end, 0);
}

static void drain_end(gpointer data)
{
	CniServer *server = data;

	server->drained(server->drained_data);
}

static void operations_cancel(CniServer *server, gboolean running)
{
	for (const GList *l = server->operations.head, *next; l; l = next) {
		CniOperation *op = l->data;

		next = l->next;
		if (running || !op->is_running)
			cni_operation_cancel(op, "rdmad is stopping");
	}
}

static void drain_expired(gpointer data)
{
	CniServer *server = data;

	operations_cancel(server, TRUE);
	while (server->collections->len)
		cni_gc_cancel(((Collection *)server->collections->pdata[0])->gc,
			      "rdmad is stopping");
}

void cni_server_drain(CniServer *server, void (*drained)(gpointer data), gpointer data)
{
	server->drained = drained;
	server->drained_data = data;
	operations_cancel(server, FALSE);
	rdmad_event_arm(server->drain_limit, DRAIN_MS);
	schedule_soon(server);
	drain_check(server);
}

/* ---- life ---- */

CniServer *cni_server_new(Cni *cni, GError **error)
{
	static const RdmadMessageLimits limits = { .fds_max = 2,
						   .peers_max = PEERS_MAX,
						   .deadline_ms = SEND_MS };
	RdmadLoop *loop = rdmad_module_loop(cni->self);
	CniServer *server = g_new0(CniServer, 1);

	server->cni = cni;
	server->path = cni->settings->socket ? g_strdup(cni->settings->socket)
					     : g_build_filename(rdmad_module_run_dir(cni->self),
								"cni.sock", NULL);
	g_queue_init(&server->operations);
	server->spool = cni_spool_new(cni->self, cni->spool_dir, &spool_ops, server);
	server->retry = rdmad_loop_add_timer(loop, cni->self, retry, server);
	server->schedule = rdmad_loop_add_timer(loop, cni->self, schedule, server);
	server->drain_limit = rdmad_loop_add_timer(loop, cni->self, drain_expired, server);
	server->drain_end = rdmad_loop_add_timer(loop, cni->self, drain_end, server);
	server->collections = g_ptr_array_new_with_free_func(collection_free);
	server->statuses = g_ptr_array_new_with_free_func(status_free);
	server->socket = rdmad_message_server_new(loop, cni->self, server->path, &limits, &peer_ops,
						  server, error);
	if (server->socket)
		return server;
	cni_server_free(server);
	return NULL;
}

void cni_server_free(CniServer *server)
{
	if (!server)
		return;
	rdmad_message_server_free(server->socket);
	g_queue_clear_full(&server->operations, (GDestroyNotify)cni_operation_free);
	g_ptr_array_unref(server->collections);
	g_ptr_array_unref(server->statuses);
	cni_spool_free(server->spool);
	rdmad_event_free(server->drain_limit);
	rdmad_event_free(server->drain_end);
	rdmad_event_free(server->retry);
	rdmad_event_free(server->schedule);
	g_free(server->path);
	g_free(server);
}

guint cni_server_running(const CniServer *server)
{
	guint n = 0;

	for (const GList *l = server->operations.head; l; l = l->next)
		n += ((CniOperation *)l->data)->is_running;
	return n;
}

guint cni_server_waiting(const CniServer *server)
{
	return server->operations.length - cni_server_running(server);
}

guint cni_server_spooled(const CniServer *server)
{
	return cni_spool_count(server->spool);
}

const char *cni_server_path(const CniServer *server)
{
	return server->path;
}
