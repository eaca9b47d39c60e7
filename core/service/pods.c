/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "pods"

#include "service/pods-private.h"

#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/grpc.h>
#include <rdmad/log.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <rdmad/pod-process.h>
#include <rdmad/socket-file.h>

#include "base/unix-socket.h"
#include "service/allocations-private.h"
#include "service/pod-list.h"

#define LIST_METHOD	 "/v1.PodResourcesLister/List"
#define LIST_DEADLINE_MS 10000
#define GAP_MS		 50 /* between two lists, because kubelet limits their rate */
#define EXHAUSTED_TRIES	 3
#define EXHAUSTED_MS	 200
#define UNSETTLED_MS	 60000	/* after the steps, while allocations are unsettled */
#define SETTLED_MS	 300000 /* to detect the end of pods */

/* Delays after a hint, because a pod is listed shortly after its Allocate. */
static const guint step_ms[] = { 250, 1000, 4000, 15000, 60000 };
#define STEP_CONFIRM 3u /* the step that confirms a missing allocation */

/* Delays of rdmad_pods_pursue(): kubelet lists completed pods for a long time. */
static const guint pursuit_ms[] = {
	50, 100, 100, 150, 200, 200, 500, 1000, 2000, 5000, 15000, 60000
};

typedef struct {
	RdmadModule *owner;
	RdmadPodsFunc fn; /* NULL: cancelled, or its owner has ended */
	gpointer data;
} Waiter;

struct RdmadPods {
	const RdmadSysroot *root;
	RdmadAllocations *allocations;
	RdmadGrpcChannel *channel;
	char *socket_path;
	RdmadPodList *list;    /* the last good response */
	RdmadPodList *retired; /* callers may have borrowed from it in this turn */
	RdmadEvent *ask, *sweep;

	gboolean busy;	 /* a List is running */
	GArray *asking;	 /* Waiter of the running List */
	GArray *waiting; /* Waiter of the next List */
	RdmadPodList *answer;
	GError *refused; /* why the response could not be parsed */
	gint64 asked_us;
	gboolean hinted; /* since the last List was sent */
	gboolean failing;
	guint step, exhausted;

	RdmadPodsAwaits awaits; /* NULL: nothing was pursued yet */
	gpointer awaits_data;
	RdmadEvent *pursue;
	gboolean pursuing; /* its List is running or waits */
	guint pursuit_step;

	RdmadSocketFile file;
	char *kubelet, *asked_kubelet; /* identities of the present socket file, and of the one
					* that was listed */
	gint64 kubelet_since_us;
	gboolean boot_begun; /* rdmad_allocations_begin_boot() succeeded */
};

/* Keeps the scheduled time if it is earlier. */
static void pods_schedule(RdmadPods *pods, guint delay_ms)
{
	const gint64 now = rdmad_now_us();
	const gint64 due = MAX(now + delay_ms * 1000LL, pods->asked_us + GAP_MS * 1000LL);

	rdmad_event_arm_within(pods->ask, (guint)((due - now + 999) / 1000));
}

static void kubelet_identify(RdmadPods *pods)
{
	RdmadSocketFile now;

	rdmad_socket_file_identify(pods->socket_path, &now);
	if (rdmad_socket_file_equal(&now, &pods->file))
		return;
	pods->file = now;
	pods->kubelet_since_us = rdmad_now_us();
	g_clear_pointer(&pods->kubelet, g_free);
	if (now.inode)
		pods->kubelet = g_strdup_printf(
			"%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT ":%" G_GINT64_FORMAT,
			(guint64)now.device, (guint64)now.inode, now.changed_ns);
	rdmad_allocations_set_kubelet(pods->allocations, pods->kubelet);
}

/* Only kubelet starts pods, and they outlive it: the first is older than all of them.  `fd` is
 * connected to it. */
static gboolean kubelet_is_first_of_boot(const RdmadPods *pods, int fd)
{
	const pid_t pid = rdmad_unix_peer_process(fd);

	return !pid || !rdmad_pod_process_precedes(pods->root, pid);
}

/* Connects, because the socket's file may be left from before a restart of the node. */
static gboolean boot_begin(const RdmadPods *pods)
{
	rdmad_autofd int fd = rdmad_unix_connect(SOCK_STREAM, pods->socket_path, NULL);

	return fd >= 0 && rdmad_allocations_begin_boot(
				  pods->allocations,
				  !rdmad_allocations_some_of_another_boot(pods->allocations) ||
					  kubelet_is_first_of_boot(pods, fd));
}

void rdmad_pods_detect_kubelet(RdmadPods *pods)
{
	kubelet_identify(pods);
	if (!pods->boot_begun && pods->kubelet)
		pods->boot_begun = boot_begin(pods);
}

gint64 rdmad_pods_kubelet_since_us(const RdmadPods *pods)
{
	return pods->kubelet_since_us;
}

static void list_answered(const guint8 *message, gsize size, gpointer data)
{
	RdmadPods *pods = data;

	g_clear_pointer(&pods->answer, rdmad_pod_list_free);
	g_clear_error(&pods->refused);
	pods->answer = rdmad_pod_list_parse(message, size, &pods->refused);
}

/* Iterates over the array in place, because a callback may cancel later waiters. */
static void waiters_notify(RdmadPods *pods, const GError *error)
{
	for (guint i = 0; i < pods->asking->len; i++) {
		const Waiter *waiter = &g_array_index(pods->asking, Waiter, i);

		if (waiter->fn)
			waiter->fn(error, waiter->data);
	}
	g_array_set_size(pods->asking, 0);
}

/* Logs each name once, not with each list. */
static void invalid_tell(const RdmadPodList *before, const RdmadPodList *now)
{
	if (now->invalid && g_strcmp0(now->invalid, before ? before->invalid : NULL))
		rdmad_warn(
			"podresources lists %s: this is no name, so the holder of its devices is "
			"not known",
			now->invalid);
}

static void list_take(RdmadPods *pods)
{
	invalid_tell(pods->list, pods->answer);
	g_clear_pointer(&pods->retired, rdmad_pod_list_free);
	pods->retired = pods->list;
	pods->list = g_steal_pointer(&pods->answer);
	pods->list->asked_us = pods->asked_us;
	pods->list->kubelet_since_us = pods->kubelet_since_us;
	pods->list->kubelet = g_steal_pointer(&pods->asked_kubelet);
	rdmad_pod_list_read_logs(pods->list, pods->root);
	rdmad_event_arm(pods->sweep, 0);
	rdmad_allocations_reconcile(pods->allocations, pods->list);
}

/* Logs only the first failure, because a node may have no kubelet. */
static void failing_set(RdmadPods *pods, const GError *error)
{
	if (error && !pods->failing)
		rdmad_notice("cannot list podresources: %s", error->message);
	else if (!error && pods->failing)
		rdmad_info("podresources can be listed again");
	pods->failing = error != NULL;
}

static void next_schedule(RdmadPods *pods, gboolean ok)
{
	const gboolean listed_after_end =
		rdmad_allocations_some_listed_after_end(pods->allocations);
	const gboolean more = !ok || pods->hinted || listed_after_end ||
			      rdmad_allocations_unsettled(pods->allocations);

	if (!more)
		pods->step = STEP_CONFIRM;
	if (pods->waiting->len)
		pods_schedule(pods, 0);
	else if (more && pods->step < G_N_ELEMENTS(step_ms))
		pods_schedule(pods, step_ms[pods->step++]);
	else if (rdmad_allocations_count(pods->allocations) || listed_after_end)
		pods_schedule(pods, more && ok ? UNSETTLED_MS : SETTLED_MS);
}

/* Returns TRUE if kubelet rejected the List for its rate; the waiters wait for the retry. */
static gboolean exhausted_retry(RdmadPods *pods, RdmadGrpcStatus status)
{
	if (status != RDMAD_GRPC_RESOURCE_EXHAUSTED || pods->exhausted == EXHAUSTED_TRIES)
		return FALSE;
	g_array_append_vals(pods->waiting, pods->asking->data, pods->asking->len);
	g_array_set_size(pods->asking, 0);
	pods_schedule(pods, EXHAUSTED_MS << pods->exhausted++);
	return TRUE;
}

static GError *list_error(const RdmadPods *pods, RdmadGrpcStatus status, const char *text)
{
	if (status == RDMAD_GRPC_OK && pods->refused)
		return g_error_copy(pods->refused);
	if (status == RDMAD_GRPC_OK && pods->answer)
		return NULL;
	if (status == RDMAD_GRPC_OK)
		return g_error_new(RDMAD_ERROR, RDMAD_ERROR_INVALID,
				   "kubelet's podresources: an answer without a list");
	return g_error_new(RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE, "kubelet's podresources: %s",
			   text && *text ? text : rdmad_grpc_status_name(status));
}

static void list_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	RdmadPods *pods = data;
	g_autoptr(GError) error = list_error(pods, status, text);

	pods->busy = FALSE;
	if (exhausted_retry(pods, status))
		return;
	pods->exhausted = 0;
	failing_set(pods, error);
	if (!error)
		list_take(pods);
	waiters_notify(pods, error);
	next_schedule(pods, !error);
}

static void list_ask(gpointer data)
{
	static const RdmadGrpcRequestOps ops = { list_answered, list_done };
	RdmadPods *pods = data;
	GArray *spent = pods->asking;

	if (pods->busy)
		return;
	rdmad_pods_detect_kubelet(pods);
	pods->asking = pods->waiting;
	pods->waiting = spent;
	g_clear_pointer(&pods->answer, rdmad_pod_list_free);
	g_clear_error(&pods->refused);
	pods->busy = TRUE;
	pods->hinted = FALSE;
	pods->asked_us = rdmad_now_us();
	g_free(pods->asked_kubelet);
	pods->asked_kubelet = g_strdup(pods->kubelet);
	rdmad_grpc_channel_call(pods->channel, LIST_METHOD, NULL, 0, LIST_DEADLINE_MS, &ops, pods);
}

static void list_sweep(gpointer data)
{
	RdmadPods *pods = data;

	g_clear_pointer(&pods->retired, rdmad_pod_list_free);
}

static void pursued(const GError *error, gpointer data)
{
	RdmadPods *pods = data;

	pods->pursuing = FALSE;
	/* The end of allocations is reported later in this turn. */
	if (pods->pursuit_step < G_N_ELEMENTS(pursuit_ms) && pods->awaits(pods->awaits_data))
		rdmad_event_arm(pods->pursue, pursuit_ms[pods->pursuit_step++]);
}

static void pursue_now(gpointer data)
{
	RdmadPods *pods = data;

	if (pods->pursuing || !pods->awaits(pods->awaits_data))
		return;
	pods->pursuing = TRUE;
	rdmad_pods_refresh(pods, NULL, pursued, pods);
}

void rdmad_pods_pursue(RdmadPods *pods, RdmadPodsAwaits awaits, gpointer data)
{
	pods->awaits = awaits;
	pods->awaits_data = data;
	pods->pursuit_step = 0;
	if (!pods->pursuing)
		rdmad_event_arm(pods->pursue, 0);
}

RdmadPods *rdmad_pods_new(RdmadLoop *loop, const RdmadSysroot *root, RdmadAllocations *allocations,
			  const char *kubelet_dir)
{
	RdmadPods *pods = g_new0(RdmadPods, 1);

	pods->root = root;
	pods->allocations = allocations;
	pods->socket_path = g_build_filename(kubelet_dir, "pod-resources", "kubelet.sock", NULL);
	pods->channel =
		rdmad_grpc_channel_new(loop, NULL, pods->socket_path, RDMAD_POD_LIST_MAX_MESSAGE);
	pods->list = rdmad_pod_list_parse(NULL, 0, NULL);
	pods->asking = g_array_new(FALSE, FALSE, sizeof(Waiter));
	pods->waiting = g_array_new(FALSE, FALSE, sizeof(Waiter));
	pods->ask = rdmad_loop_add_timer(loop, NULL, list_ask, pods);
	pods->sweep = rdmad_loop_add_timer(loop, NULL, list_sweep, pods);
	pods->pursue = rdmad_loop_add_timer(loop, NULL, pursue_now, pods);
	pods->asked_us = -GAP_MS * 1000;
	rdmad_pods_detect_kubelet(pods);
	if (rdmad_allocations_count(allocations))
		rdmad_pods_hint(pods);
	return pods;
}

void rdmad_pods_free(RdmadPods *pods)
{
	g_autoptr(GError) ended =
		g_error_new_literal(RDMAD_ERROR, RDMAD_ERROR_CANCELLED, "rdmad ends");

	if (!pods)
		return;
	rdmad_grpc_channel_free(pods->channel);
	/* The waiters of the core free their data in the callback. */
	g_array_append_vals(pods->asking, pods->waiting->data, pods->waiting->len);
	waiters_notify(pods, ended);
	rdmad_event_free(pods->ask);
	rdmad_event_free(pods->sweep);
	rdmad_event_free(pods->pursue);
	g_array_unref(pods->asking);
	g_array_unref(pods->waiting);
	rdmad_pod_list_free(pods->list);
	rdmad_pod_list_free(pods->retired);
	rdmad_pod_list_free(pods->answer);
	g_clear_error(&pods->refused);
	g_free(pods->socket_path);
	g_free(pods->kubelet);
	g_free(pods->asked_kubelet);
	g_free(pods);
}

static guint waiters_reap(GArray *waiters, const RdmadModule *owner)
{
	guint n = 0;

	for (guint i = 0; i < waiters->len; i++) {
		Waiter *waiter = &g_array_index(waiters, Waiter, i);

		if (!waiter->fn || waiter->owner != owner)
			continue;
		waiter->fn = NULL;
		n++;
	}
	return n;
}

guint rdmad_pods_reap(RdmadPods *pods, const RdmadModule *owner)
{
	return waiters_reap(pods->asking, owner) + waiters_reap(pods->waiting, owner);
}

static void waiters_cancel(GArray *waiters, RdmadPodsFunc fn, gconstpointer data)
{
	for (guint i = 0; i < waiters->len; i++) {
		Waiter *waiter = &g_array_index(waiters, Waiter, i);

		if (waiter->fn == fn && waiter->data == data)
			waiter->fn = NULL;
	}
}

void rdmad_pods_cancel(RdmadPods *pods, RdmadPodsFunc fn, gpointer data)
{
	waiters_cancel(pods->asking, fn, data);
	waiters_cancel(pods->waiting, fn, data);
}

void rdmad_pods_refresh(RdmadPods *pods, RdmadModule *owner, RdmadPodsFunc fn, gpointer data)
{
	const Waiter waiter = { owner, fn, data };

	g_array_append_val(pods->waiting, waiter);
	if (!pods->busy)
		pods_schedule(pods, 0);
}

void rdmad_pods_hint(RdmadPods *pods)
{
	pods->hinted = TRUE;
	pods->step = 0;
	if (!pods->busy)
		pods_schedule(pods, step_ms[pods->step++]);
}

guint rdmad_pods_count(RdmadPods *pods)
{
	return pods->list->entries->len;
}

const RdmadPodDevices *rdmad_pods_nth(RdmadPods *pods, guint index)
{
	g_assert(index < pods->list->entries->len);
	return g_ptr_array_index(pods->list->entries, index);
}

const RdmadPodDevices *rdmad_pods_holder(RdmadPods *pods, const char *resource, const char *id)
{
	return rdmad_pod_list_holder(pods->list, resource, id);
}

gboolean rdmad_pods_lists(RdmadPods *pods, const char *pod_namespace, const char *pod_name)
{
	return rdmad_pods_set_has(pods->list->pods, pod_namespace, pod_name);
}

gboolean rdmad_pods_is_steady(RdmadPods *pods)
{
	const RdmadPodList *list = pods->list;

	return list->asked_us && list->kubelet_since_us &&
	       list->asked_us - list->kubelet_since_us >= RDMAD_ALLOCATION_GRACE_US;
}
