/* SPDX-License-Identifier: Apache-2.0 */
#include "host-network.h"

#include <fcntl.h>
#include <rdmad/allocations.h>
#include <rdmad/error.h>
#include <rdmad/event-log.h>
#include <rdmad/fd.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/pod-process.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <sys/stat.h>

#define WAIT_MS 3000u /* for the ADD, and for the first process of the pod */
#define TRIES	6u    /* each after twice the time of the one before */

/* One pod, until something is known. */
typedef struct {
	char *pod_namespace, *pod_name;
	gboolean is_on_host, is_elsewhere;
} Pod;

struct CniHostNetwork {
	Cni *cni;
	RdmadWatch *allocations;
	GPtrArray *pods; /* of Pod */
	RdmadEvent *timer;
	RdmadJob *job;
	guint tries;
};

typedef struct {
	const RdmadSysroot *root;
	GPtrArray *pods; /* of Pod */
} Search;

static void pod_free(gpointer data)
{
	Pod *pod = data;

	g_free(pod->pod_namespace);
	g_free(pod->pod_name);
	g_free(pod);
}

static gpointer pod_copy(gconstpointer data, gpointer unused)
{
	const Pod *pod = data;
	Pod *copy = g_new0(Pod, 1);

	copy->pod_namespace = g_strdup(pod->pod_namespace);
	copy->pod_name = g_strdup(pod->pod_name);
	return copy;
}

static Pod *pod_find(const GPtrArray *pods, const char *pod_namespace, const char *pod_name)
{
	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (g_strcmp0(pod->pod_namespace, pod_namespace) == 0 &&
		    g_strcmp0(pod->pod_name, pod_name) == 0)
			return pod;
	}
	return NULL;
}

/* ---- on a worker ---- */

static void search_free(gpointer data)
{
	Search *search = data;

	g_ptr_array_unref(search->pods);
	g_free(search);
}

/* The file's inode identifies the namespace.  Unlike /proc/PID/ns/net it needs no right to trace the
 * process. */
static gboolean network_identify(const RdmadSysroot *root, const char *process, struct stat *st)
{
	g_autofree char *path = g_strdup_printf("proc/%s/net/dev", process);
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_PATH, NULL);

	return fd >= 0 && fstat(fd, st) == 0;
}

static void pod_look(const RdmadSysroot *root, Pod *pod, const struct stat *host)
{
	RdmadPodProcess process;
	g_autofree char *pid = NULL;
	struct stat st;

	if (!rdmad_pod_process_find(root, pod->pod_namespace, pod->pod_name, &process, NULL))
		return;
	pid = g_strdup_printf("%d", process.pid);
	if (!network_identify(root, pid, &st) || !rdmad_pod_process_is(root, &process))
		return;
	if (st.st_dev == host->st_dev && st.st_ino == host->st_ino)
		pod->is_on_host = TRUE;
	else
		pod->is_elsewhere = TRUE;
}

static gpointer search_run(gpointer input, const RdmadJob *job, GError **error)
{
	const Search *search = input;
	struct stat host;

	if (!network_identify(search->root, "self", &host)) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
				    "rdmad's own network cannot be told from others");
		return NULL;
	}
	for (guint i = 0; i < search->pods->len && !rdmad_job_cancelled(job); i++)
		pod_look(search->root, search->pods->pdata[i], &host);
	return g_ptr_array_ref(search->pods);
}

/* ---- on the loop ---- */

void cni_host_network_tell(Cni *cni, const char *pod_namespace, const char *pod_name,
			   const char *container)
{
	g_autofree char *pod = pod_name ? g_strconcat(pod_namespace, "/", pod_name, NULL) : NULL;
	const RdmadLogFields about = { .pod = pod };

	cni_stats_host_network(cni->stats);
	rdmad_event_log_post(rdmad_module_event_log(cni->self), RDMAD_LOG_NOTICE,
			     "cni-host-network", &about,
			     "%s %.64s has the network of the host, and gets no NIC of its own",
			     container ? "container" : "pod", container ? container : pod);
}

static void again_in(CniHostNetwork *watch)
{
	if (watch->pods->len && watch->tries < TRIES)
		rdmad_event_arm(watch->timer, WAIT_MS << watch->tries);
	else
		g_ptr_array_set_size(watch->pods, 0);
}

static void searched(gpointer result, const GError *error, gpointer data)
{
	g_autoptr(GPtrArray) found = result;
	CniHostNetwork *watch = data;

	watch->job = NULL;
	for (guint i = 0; found && i < found->len; i++) {
		const Pod *pod = found->pdata[i];
		Pod *mine = pod_find(watch->pods, pod->pod_namespace, pod->pod_name);

		if (mine && pod->is_on_host)
			cni_host_network_tell(watch->cni, pod->pod_namespace, pod->pod_name, NULL);
		if (mine && (pod->is_on_host || pod->is_elsewhere))
			g_ptr_array_remove(watch->pods, mine);
	}
	again_in(watch);
}

static const RdmadJobClass SEARCH = { .name = "cni-host-network",
				      .run = search_run,
				      .done = searched,
				      .free_input = search_free,
				      .free_result = (GDestroyNotify)g_ptr_array_unref };

static void look(gpointer data)
{
	CniHostNetwork *watch = data;
	RdmadModule *self = watch->cni->self;
	Search *search;

	if (watch->job || !watch->pods->len)
		return;
	watch->tries++;
	search = g_new0(Search, 1);
	search->root = rdmad_module_sysroot(self);
	search->pods = g_ptr_array_copy(watch->pods, pod_copy, NULL);
	g_ptr_array_set_free_func(search->pods, pod_free);
	watch->job = rdmad_work_submit(rdmad_module_workers(self), self, &SEARCH, search, 0, watch,
				       NULL);
	if (!watch->job)
		again_in(watch);
}

static void allocation_seen(CniHostNetwork *watch, const RdmadAllocation *allocation)
{
	Pod *pod = allocation->pod_name
			   ? pod_find(watch->pods, allocation->pod_namespace, allocation->pod_name)
			   : NULL;
	const Pod named = { allocation->pod_namespace, allocation->pod_name };

	if (!allocation->pod_name || pod || allocation->n_attachments) {
		if (pod && allocation->n_attachments)
			g_ptr_array_remove(watch->pods, pod);
		return;
	}
	g_ptr_array_add(watch->pods, pod_copy(&named, NULL));
	watch->tries = 0;
	rdmad_event_arm(watch->timer, WAIT_MS);
}

static void granted(const RdmadAllocation *allocation, gpointer data)
{
	allocation_seen(data, allocation);
}

/* Only its naming: a pod whose NIC was taken back is not news. */
static void changed(const RdmadAllocation *before, const RdmadAllocation *now, gpointer data)
{
	if (!before->pod_name || now->n_attachments)
		allocation_seen(data, now);
}

static const RdmadAllocationOps ops = { .granted = granted, .changed = changed };

CniHostNetwork *cni_host_network_new(Cni *cni)
{
	CniHostNetwork *watch = g_new0(CniHostNetwork, 1);

	watch->cni = cni;
	watch->pods = g_ptr_array_new_with_free_func(pod_free);
	watch->timer = rdmad_loop_add_timer(rdmad_module_loop(cni->self), cni->self, look, watch);
	watch->allocations = rdmad_allocations_watch(rdmad_module_allocations(cni->self), cni->self,
						     &ops, watch);
	return watch;
}

void cni_host_network_free(CniHostNetwork *watch)
{
	if (!watch)
		return;
	rdmad_watch_free(watch->allocations);
	rdmad_job_cancel(watch->job);
	rdmad_event_free(watch->timer);
	g_ptr_array_unref(watch->pods);
	g_free(watch);
}
