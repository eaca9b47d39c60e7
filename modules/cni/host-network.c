/* SPDX-License-Identifier: Apache-2.0 */
#include "host-network.h"

#include <rdmad/allocations.h>
#include <rdmad/cgroup-pod.h>
#include <rdmad/event-log.h>
#include <rdmad/fd.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/netns.h>
#include <rdmad/pod-log-directory.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>

#define LOGS	"var/log/pods"
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

/* Pods by their uid. */
static GHashTable *uids_read(const Search *search)
{
	GHashTable *uids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_auto(GStrv) names = rdmad_sysroot_list(search->root, LOGS, NULL);

	for (char **name = names; name && *name; name++) {
		g_auto(RdmadPodLogDirectory) directory = { 0 };
		Pod *pod = rdmad_pod_log_directory_parse(*name, &directory)
				   ? pod_find(search->pods, directory.pod_namespace,
					      directory.pod_name)
				   : NULL;

		if (pod)
			g_hash_table_insert(uids, g_strdup(directory.uid), pod);
	}
	return uids;
}

static Pod *pod_of_process(const Search *search, const char *pid, GHashTable *uids)
{
	g_autofree char *path = g_strdup_printf("proc/%s/cgroup", pid);
	g_autofree char *text = rdmad_sysroot_read(search->root, path, NULL);
	RdmadCgroupPod of;

	return text && rdmad_cgroup_pod_parse(text, &of) ? g_hash_table_lookup(uids, of.uid) : NULL;
}

static void process_look(const Search *search, const char *pid, Pod *pod, const char *host)
{
	g_autofree char *path = g_strdup_printf("proc/%s/ns/net", pid);
	g_autofree char *name = rdmad_sysroot_link_name(search->root, path, NULL);

	if (name)
		*(g_str_equal(name, host) ? &pod->is_on_host : &pod->is_elsewhere) = TRUE;
}

/* The names of namespaces are this machine's: "net:[4026531840]". */
static char *host_name(GError **error)
{
	RdmadNetnsId id;
	rdmad_autofd int own = rdmad_netns_open_own(&id, error);

	return own >= 0 ? g_strdup_printf("net:[%" G_GUINT64_FORMAT "]", (guint64)id.inode) : NULL;
}

static gpointer search_run(gpointer input, const RdmadJob *job, GError **error)
{
	const Search *search = input;
	g_autoptr(GHashTable) uids = uids_read(search);
	g_autofree char *host = host_name(error);
	g_auto(GStrv) pids = host && g_hash_table_size(uids)
				     ? rdmad_sysroot_list(search->root, "proc", NULL)
				     : NULL;

	for (char **pid = pids; pid && *pid && !rdmad_job_cancelled(job); pid++) {
		Pod *pod = g_ascii_isdigit(**pid) ? pod_of_process(search, *pid, uids) : NULL;

		if (pod)
			process_look(search, *pid, pod, host);
	}
	return host ? g_ptr_array_ref(search->pods) : NULL;
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

/* Only its naming: a pod whose NIC was taken back is no news. */
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
