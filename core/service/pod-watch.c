/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "pods"

#include "service/pod-watch.h"

#include <errno.h>
#include <rdmad/cgroup-pod.h>
#include <rdmad/clock.h>
#include <rdmad/fd.h>
#include <rdmad/inventory.h> /* rdmad_watch_free() */
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/pod-log-directory.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <sys/inotify.h>

#include "hardware/sysroot.h"
#include "service/allocation-private.h"
#include "service/allocations-private.h"
#include "service/pod-cgroups.h"
#include "service/pods-private.h"

#define PODS_MAX    1024u /* limit of pods with allocations; kubelet's default is 110 */
#define SETTLE_MS   20
#define RETRY_MS    1000
#define SCAN_GAP_US (200 * 1000)

/* A pod is lost if it has a log directory, but no cgroup.  It has ended if scans find this for a
 * minute.  Scans that are far apart do not count: while the machine is suspended, no process
 * creates the cgroup. */
#define LOST_US	      (60 * G_USEC_PER_SEC)
#define LOST_SCAN_MS  20000
#define LOST_SCANS    5 /* scans after each query of such a pod */
#define LOST_APART_US (2 * LOST_SCAN_MS * 1000)
#define AWAIT_SCAN_MS 1000

#define PARENT_EVENTS	 (IN_CREATE | IN_MOVED_TO | IN_ONLYDIR)
#define DIRECTORY_EVENTS (IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR)

/* A pod by its name, which a successor may have again. */
typedef struct {
	char *pod_namespace, *pod_name;
	guint allocations;
	char *uid, *path;      /* NULL: not found yet */
	int directory, events; /* watches, or -1 */
	RdmadPodLife life;     /* UNKNOWN: the pod is not found yet */
	gboolean began;	       /* it had a process */
	gboolean unread;       /* the last reading failed */
	/* A cgroup of the name, which may be a former pod's, has no process or was removed. */
	gboolean is_doubtful;
	/* Monotonic times of the first and the last scan that found it lost; 0: it is not lost. */
	gint64 lost_since_us;
	gint64 lost_until_us;
	/* Path of the only cgroup of the name whose pod had no allocation when it was found; NULL:
	 * none, or several.  The allocations of that time are its pod's, unless it may be a former
	 * one: it had no process, and no other pod of the name is known. */
	char *newcomer;
	gint64 newcomer_last; /* number of the youngest of them */
	gboolean newcomer_is_sure;
	gboolean is_settled; /* they have the path */
	/* Monotonic time until which the cgroup of a later pod may appear, or that of a former one
	 * be removed; 0: none. */
	gint64 awaits_until_us;
	gint64 awaits_last; /* number of the youngest allocation when that began */
} Pod;

struct RdmadPodWatch {
	RdmadLoop *loop;
	RdmadWorkers *workers;
	RdmadSysroot *root;
	RdmadAllocations *allocations;
	RdmadPods *pods;
	RdmadWatch *watch;
	GHashTable *by_name; /* "namespace/name" -> Pod */
	gint64 youngest;     /* number of the youngest allocation */
	RdmadPodCgroups *cgroups;
	guint sought; /* number of pods that are not found */
	guint awaits; /* number of pods whose name another one may have */
	guint ended;  /* number of pods that have ended, or may have */
	RdmadEvent *settle;

	int inotify; /* -1: not available */
	RdmadEvent *readable;
	GHashTable *by_descriptor; /* -> Pod; NULL: a parent directory */
	RdmadEvent *seek;
	RdmadEvent *seek_lost;
	guint lost_scans; /* to come */
	RdmadJob *scan;
	gboolean again; /* a change was reported during the scan */
	gint64 scanned_us;

	char *problem;
};

/* ---- watches ---- */

static int watch_add(RdmadPodWatch *watch, const char *path, guint32 events, Pod *pod)
{
	const int descriptor = rdmad_sysroot_watch(watch->root, watch->inotify, path, events);

	if (descriptor >= 0)
		g_hash_table_insert(watch->by_descriptor, GINT_TO_POINTER(descriptor), pod);
	return descriptor;
}

static void watch_remove(RdmadPodWatch *watch, int *descriptor)
{
	if (*descriptor < 0)
		return;
	/* Fails if the kernel has removed the watch with its file. */
	inotify_rm_watch(watch->inotify, *descriptor);
	g_hash_table_remove(watch->by_descriptor, GINT_TO_POINTER(*descriptor));
	*descriptor = -1;
}

static gboolean parent_remove(gpointer descriptor, gpointer pod, gpointer data)
{
	const RdmadPodWatch *watch = data;

	if (pod)
		return FALSE;
	inotify_rm_watch(watch->inotify, GPOINTER_TO_INT(descriptor));
	return TRUE;
}

/* Returns TRUE if a directory was not watched before, so that entries may have been created in
 * it. */
static gboolean parents_watch(RdmadPodWatch *watch, const RdmadPodScan *scan)
{
	const guint before = g_hash_table_size(watch->by_descriptor);

	watch_add(watch, RDMAD_POD_LOGS, PARENT_EVENTS, NULL);
	for (guint i = 0; i < scan->tree->parents->len; i++)
		watch_add(watch, scan->tree->parents->pdata[i], PARENT_EVENTS, NULL);
	return g_hash_table_size(watch->by_descriptor) != before;
}

/* `problem` NULL: solved. */
static void set_problem(RdmadPodWatch *watch, const char *problem)
{
	if (problem && !watch->problem && rdmad_sysroot_is_live(watch->root))
		rdmad_notice("only kubelet reports the end of pods, minutes late: %s", problem);
	if (g_strcmp0(problem, watch->problem) == 0)
		return;
	g_free(watch->problem);
	watch->problem = g_strdup(problem);
}

static void set_inotify_problem(RdmadPodWatch *watch)
{
	g_autofree char *problem = g_strdup_printf("inotify: %s", g_strerror(errno));

	set_problem(watch, problem);
}

/* ---- the life of a pod ---- */

static void pod_set_life(RdmadPodWatch *watch, Pod *pod, RdmadPodLife life)
{
	watch->sought -= pod->life == RDMAD_POD_LIFE_UNKNOWN;
	watch->ended -= rdmad_pod_life_is_over(pod->life);
	pod->life = life;
	watch->sought += pod->life == RDMAD_POD_LIFE_UNKNOWN;
	watch->ended += rdmad_pod_life_is_over(pod->life);
}

static void pod_unwatch(RdmadPodWatch *watch, Pod *pod)
{
	watch_remove(watch, &pod->directory);
	watch_remove(watch, &pod->events);
}

static gboolean awaits_end(gpointer data)
{
	const RdmadPodWatch *watch = data;

	return watch->ended > 0;
}

static void ask_soon(RdmadPodWatch *watch)
{
	rdmad_pods_pursue(watch->pods, awaits_end, watch);
}

static RdmadPodLife life_of_state(const Pod *pod, RdmadCgroupState state)
{
	switch (state) {
	case RDMAD_CGROUP_POPULATED:
		return RDMAD_POD_LIFE_ALIVE;
	case RDMAD_CGROUP_EMPTY: /* its first process has not started yet */
		return pod->began ? RDMAD_POD_LIFE_EMPTY : RDMAD_POD_LIFE_ALIVE;
	case RDMAD_CGROUP_GONE:
		return RDMAD_POD_LIFE_GONE;
	case RDMAD_CGROUP_UNREADABLE:
		break;
	}
	return pod->life;
}

static void pod_set_doubtful(RdmadPodWatch *watch, Pod *pod, gboolean is_doubtful)
{
	watch->ended += (guint)is_doubtful - (guint)pod->is_doubtful;
	pod->is_doubtful = is_doubtful;
}

/* Returns whether an allocation of the name may be another pod's. */
static gboolean pod_may_be_former(const RdmadPodWatch *watch, const Pod *pod)
{
	const gboolean settles = pod->newcomer_is_sure && g_strcmp0(pod->newcomer, pod->path) == 0;

	return rdmad_allocations_some_of_another_cgroup(watch->allocations, pod->pod_namespace,
							pod->pod_name, pod->path,
							settles ? pod->newcomer_last : 0);
}

/* `path` NULL: none. */
static void pod_set_newcomer(Pod *pod, const char *path, gint64 last, gboolean is_sure)
{
	g_free(pod->newcomer);
	pod->newcomer = g_strdup(path);
	pod->newcomer_last = last;
	pod->newcomer_is_sure = is_sure;
	pod->is_settled = FALSE;
}

/* `awaits` TRUE: from now on. */
static void pod_set_awaits(RdmadPodWatch *watch, Pod *pod, gboolean awaits)
{
	watch->awaits += (guint)awaits - (guint)(pod->awaits_until_us != 0);
	if (!pod->awaits_until_us)
		pod->awaits_last = watch->youngest;
	pod->awaits_until_us = awaits ? rdmad_now_us() + RDMAD_ALLOCATION_CGROUP_US : 0;
}

/* Searches again: another pod has the name, or the previous one was not found. */
static void pod_seek(RdmadPodWatch *watch, Pod *pod)
{
	pod_unwatch(watch, pod);
	if (pod->uid)
		rdmad_pod_cgroups_end(watch->cgroups, pod->uid);
	g_clear_pointer(&pod->uid, g_free);
	g_clear_pointer(&pod->path, g_free);
	pod_set_newcomer(pod, NULL, 0, FALSE);
	pod_set_awaits(watch, pod, FALSE);
	pod->began = FALSE;
	pod->lost_since_us = 0;
	pod_set_life(watch, pod, RDMAD_POD_LIFE_UNKNOWN);
}

static gboolean is_seeking(const RdmadPodWatch *watch)
{
	return watch->sought || watch->awaits;
}

static void seek_again(RdmadPodWatch *watch)
{
	const gint64 since_us = rdmad_now_us() - watch->scanned_us;
	const gint64 wait_us = MAX(SCAN_GAP_US - since_us, SETTLE_MS * 1000);

	if (watch->scan)
		watch->again = TRUE;
	else if (is_seeking(watch) && !rdmad_event_armed(watch->seek))
		rdmad_event_arm(watch->seek, (guint)(wait_us / 1000));
}

/* The cgroup may have been that of a former pod of the name, which had ended before it was watched:
 * searches again, and queries kubelet. */
static void pod_doubt(RdmadPodWatch *watch, Pod *pod)
{
	pod_seek(watch, pod);
	pod_set_doubtful(watch, pod, TRUE);
	seek_again(watch);
	ask_soon(watch);
}

/* The table must not change while it is judged. */
static void settle_soon(RdmadPodWatch *watch, const Pod *pod)
{
	if (pod->newcomer && !pod->is_settled)
		rdmad_event_arm(watch->settle, 0);
}

static void pod_begin(RdmadPodWatch *watch, Pod *pod)
{
	pod->began = TRUE;
	pod_set_doubtful(watch, pod, FALSE);
	pod->newcomer_is_sure |= g_strcmp0(pod->newcomer, pod->path) == 0;
	settle_soon(watch, pod);
}

/* The allocations of the former pod of the name end by the next list. */
static void pod_end_former(RdmadPodWatch *watch, Pod *pod)
{
	pod->began = FALSE;
	pod_set_doubtful(watch, pod, TRUE);
	ask_soon(watch);
}

static void pod_update(RdmadPodWatch *watch, Pod *pod)
{
	const RdmadCgroupState state = rdmad_cgroup_state(watch->root, pod->path);
	RdmadPodLife life;

	if (state == RDMAD_CGROUP_POPULATED)
		pod_begin(watch, pod);
	else if (state != RDMAD_CGROUP_UNREADABLE && pod->began && pod_may_be_former(watch, pod))
		pod_end_former(watch, pod);
	pod->unread = state == RDMAD_CGROUP_UNREADABLE;
	life = life_of_state(pod, state);
	if (life == pod->life)
		return;
	if (life == RDMAD_POD_LIFE_GONE && !pod->began) {
		pod_doubt(watch, pod);
		return;
	}
	pod_set_life(watch, pod, life);
	if (life == RDMAD_POD_LIFE_GONE)
		pod_unwatch(watch, pod);
	if (!rdmad_pod_life_is_over(life))
		return;
	rdmad_debug("%s: %s", pod->path,
		    life == RDMAD_POD_LIFE_EMPTY ? "its last process has ended" : "it is removed");
	ask_soon(watch);
}

/* cgroup.events reports that a cgroup becomes empty, but the cgroup does not report its removal: an
 * empty one must be read again.  So must one whose last reading failed, which may have been that of
 * the last event. */
static gboolean pod_is_silent(const Pod *pod)
{
	return pod->life == RDMAD_POD_LIFE_EMPTY ||
	       (pod->life == RDMAD_POD_LIFE_ALIVE && (!pod->began || pod->unread));
}

static gboolean pod_attach(RdmadPodWatch *watch, Pod *pod, const char *uid, const char *path)
{
	g_autofree char *events = g_build_filename(path, "cgroup.events", NULL);

	pod->directory = watch_add(watch, path, DIRECTORY_EVENTS, pod);
	if (pod->directory < 0) {
		if (errno != ENOENT && errno != ENODEV)
			set_inotify_problem(watch);
		return FALSE;
	}
	pod->events = watch_add(watch, events, IN_MODIFY, pod); /* cgroup v1 has no such file */
	pod->uid = g_strdup(uid);
	pod->path = g_strdup(path);
	rdmad_pod_cgroups_add(watch->cgroups, uid, path);
	pod->lost_since_us = 0;
	pod_set_doubtful(watch, pod, FALSE);
	pod_set_life(watch, pod, RDMAD_POD_LIFE_ALIVE);
	/* The pod may have ended before it was watched. */
	pod_update(watch, pod);
	return TRUE;
}

/* ---- pods that are lost ---- */

static void pod_lose(Pod *pod)
{
	const gint64 now_us = rdmad_now_us();

	if (!pod->lost_since_us || now_us - pod->lost_until_us > LOST_APART_US)
		pod->lost_since_us = now_us;
	pod->lost_until_us = now_us;
}

/* The parts of a pod that are missing appear within moments of its kubelet, which may start long
 * after the machine. */
static gboolean pod_is_lost(const RdmadPodWatch *watch, const Pod *pod)
{
	return pod->lost_since_us &&
	       pod->lost_until_us -
			       MAX(pod->lost_since_us, rdmad_pods_kubelet_since_us(watch->pods)) >=
		       LOST_US;
}

static void lost_seek_again(RdmadPodWatch *watch)
{
	watch->lost_scans = LOST_SCANS;
	if (!rdmad_event_armed(watch->seek_lost))
		rdmad_event_arm(watch->seek_lost, LOST_SCAN_MS);
}

/* ---- finding pods ---- */

/* Attaches the pod to the first of the cgroups that has processes, or to the first. */
static gboolean pod_attach_one(RdmadPodWatch *watch, Pod *pod, const GPtrArray *uids,
			       const RdmadPodScan *scan, gboolean populated)
{
	for (guint i = 0; uids && i < uids->len; i++) {
		const char *uid = uids->pdata[i];
		const char *path = rdmad_pod_cgroups_present(watch->cgroups, scan, uid);

		if (path &&
		    (!populated ||
		     rdmad_cgroup_state(watch->root, path) == RDMAD_CGROUP_POPULATED) &&
		    pod_attach(watch, pod, uid, path))
			return TRUE;
	}
	return FALSE;
}

static void pod_find_newcomer(RdmadPodWatch *watch, Pod *pod, const RdmadPodScan *scan,
			      const GPtrArray *uids, const GPtrArray *owners)
{
	const gboolean is_due = pod->awaits_until_us && rdmad_now_us() >= pod->awaits_until_us;
	const char *path = rdmad_pod_cgroups_newcomer(watch->cgroups, scan, uids, owners, FALSE);
	gint64 last = watch->youngest;

	if (!path && is_due) {
		path = rdmad_pod_cgroups_newcomer(watch->cgroups, scan, uids, owners, TRUE);
		last = pod->awaits_last;
	}
	if (path || pod->life == RDMAD_POD_LIFE_UNKNOWN)
		pod_set_newcomer(pod, path, last, owners != NULL);
	if (is_due)
		pod_set_awaits(watch, pod, FALSE);
	settle_soon(watch, pod);
}

/* One that outlives its deletion is watched before its successor. */
static void pod_find(RdmadPodWatch *watch, Pod *pod, const RdmadPodScan *scan,
		     const GPtrArray *uids, const GPtrArray *owners)
{
	if (pod_attach_one(watch, pod, owners, scan, TRUE) ||
	    pod_attach_one(watch, pod, uids, scan, TRUE) ||
	    pod_attach_one(watch, pod, uids, scan, FALSE))
		return;
	if (scan->tree->parents->len && rdmad_pod_cgroups_any(watch->cgroups, scan, uids))
		pod_lose(pod);
	else
		pod->lost_since_us = 0;
}

static void owner_collect(const RdmadAllocation *allocation, gpointer owners)
{
	char uid[sizeof(((RdmadCgroupPod *)NULL)->uid)];

	if (allocation->pod_cgroup && rdmad_cgroup_pod_path(allocation->pod_cgroup, uid))
		rdmad_pod_uids_add(owners, allocation->pod_namespace, allocation->pod_name, uid);
}

static void pods_find(RdmadPodWatch *watch, const RdmadPodScan *scan)
{
	g_autoptr(GHashTable) owners = rdmad_pod_uids_new();
	GHashTableIter iter;
	gpointer name, value;

	rdmad_allocations_foreach(watch->allocations, owner_collect, owners);
	g_hash_table_iter_init(&iter, watch->by_name);
	while (g_hash_table_iter_next(&iter, &name, &value)) {
		const GPtrArray *uids = g_hash_table_lookup(scan->uids, name);
		const GPtrArray *mine = g_hash_table_lookup(owners, name);
		Pod *pod = value;

		if (pod->life == RDMAD_POD_LIFE_UNKNOWN || pod->awaits_until_us)
			pod_find_newcomer(watch, pod, scan, uids, mine);
		if (pod->life != RDMAD_POD_LIFE_UNKNOWN)
			continue;
		pod_find(watch, pod, scan, uids, mine);
		if (pod->path && !pod->newcomer && pod_may_be_former(watch, pod))
			pod_set_awaits(watch, pod, TRUE);
	}
}

static void settle(gpointer data)
{
	RdmadPodWatch *watch = data;
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, watch->by_name);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		Pod *pod = value;

		if (!pod->newcomer || pod->is_settled)
			continue;
		pod->newcomer_is_sure |=
			rdmad_cgroup_state(watch->root, pod->newcomer) == RDMAD_CGROUP_POPULATED;
		pod->is_settled = pod->newcomer_is_sure;
		if (!pod->is_settled)
			continue;
		pod_set_awaits(watch, pod, FALSE);
		rdmad_allocations_set_pod_cgroup(watch->allocations, pod->pod_namespace,
						 pod->pod_name, pod->newcomer, pod->newcomer_last);
	}
}

static void scan_done(gpointer result, const GError *error, gpointer data)
{
	RdmadPodWatch *watch = data;
	const gboolean again = watch->again;

	watch->scan = NULL;
	watch->again = FALSE;
	if (!result)
		return;
	set_problem(watch, rdmad_pod_scan_problem(result));
	rdmad_pod_cgroups_clean(watch->cgroups, result);
	pods_find(watch, result);
	if (!is_seeking(watch))
		g_hash_table_foreach_remove(watch->by_descriptor, parent_remove, watch);
	else if (parents_watch(watch, result) || again)
		seek_again(watch);
	if (watch->awaits && !rdmad_event_armed(watch->seek))
		rdmad_event_arm(watch->seek, AWAIT_SCAN_MS);
	rdmad_pod_scan_free(result);
}

static const RdmadJobClass scan_class = {
	.name = "cgroups of pods",
	.run = rdmad_pod_scan_run,
	.done = scan_done,
	.free_result = rdmad_pod_scan_free,
};

static void seek_now(gpointer data)
{
	RdmadPodWatch *watch = data;
	g_autoptr(GError) error = NULL;

	if (watch->scan || !is_seeking(watch))
		return;
	watch->scanned_us = rdmad_now_us();
	watch->scan =
		rdmad_work_submit(watch->workers, NULL, &scan_class, watch->root, 0, watch, &error);
	if (watch->scan)
		return;
	rdmad_warn("cannot find the cgroups of pods: %s", error->message);
	rdmad_event_arm(watch->seek, RETRY_MS);
}

static void seek_lost(gpointer data)
{
	RdmadPodWatch *watch = data;

	seek_again(watch);
	if (watch->sought && --watch->lost_scans)
		rdmad_event_arm(watch->seek_lost, LOST_SCAN_MS);
}

/* ---- events of the kernel ---- */

static void descriptor_changed(RdmadPodWatch *watch, const struct inotify_event *event)
{
	gpointer pod;

	if (!g_hash_table_lookup_extended(watch->by_descriptor, GINT_TO_POINTER(event->wd), NULL,
					  &pod))
		return;
	if (event->mask & IN_IGNORED)
		g_hash_table_remove(watch->by_descriptor, GINT_TO_POINTER(event->wd));
	if (!pod)
		seek_again(watch);
	else if (((Pod *)pod)->path)
		pod_update(watch, pod);
}

/* Call after a loss of events. */
static void pods_update(RdmadPodWatch *watch)
{
	GHashTableIter iter;
	gpointer pod;

	seek_again(watch);
	g_hash_table_iter_init(&iter, watch->by_name);
	while (g_hash_table_iter_next(&iter, NULL, &pod))
		if (((Pod *)pod)->path)
			pod_update(watch, pod);
}

static void inotify_readable(int fd, RdmadIo ready, gpointer data)
{
	RdmadPodWatch *watch = data;
	_Alignas(struct inotify_event) char buffer[4096];
	gssize n;

	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		for (gssize at = 0; at < n;) {
			const struct inotify_event *event = (gconstpointer)(buffer + at);

			if (event->mask & IN_Q_OVERFLOW)
				pods_update(watch);
			else
				descriptor_changed(watch, event);
			at += (gssize)(sizeof(*event) + event->len);
		}
}

/* ---- the life of the pod of an allocation ---- */

static RdmadPodLife life_of(const char *pod_namespace, const char *pod_name, const char *pod_cgroup,
			    gpointer data)
{
	RdmadPodWatch *watch = data;
	g_autofree char *name = rdmad_pod_name(pod_namespace, pod_name);
	Pod *pod = g_hash_table_lookup(watch->by_name, name);

	if (pod && pod_is_silent(pod))
		pod_update(watch, pod);
	if (pod_cgroup && (!pod || g_strcmp0(pod_cgroup, pod->path) != 0))
		return rdmad_pod_cgroup_life(watch->root, pod_cgroup);
	if (!pod)
		return RDMAD_POD_LIFE_UNKNOWN;
	if (pod_is_lost(watch, pod))
		return RDMAD_POD_LIFE_GONE; /* it ended unobserved */
	if (pod->lost_since_us)
		lost_seek_again(watch);
	if (pod->life != RDMAD_POD_LIFE_ALIVE || pod->began)
		return pod->life;
	/* If this may be the cgroup of another pod, the first process of the pod is still to start,
	 * or it ended before that: kubelet removes the cgroup later. */
	return pod_cgroup && !pod->unread ? RDMAD_POD_LIFE_EMPTY : RDMAD_POD_LIFE_UNKNOWN;
}

/* ---- allocations ---- */

static void pod_free(gpointer data)
{
	Pod *pod = data;

	g_free(pod->pod_namespace);
	g_free(pod->pod_name);
	g_free(pod->newcomer);
	g_free(pod->uid);
	g_free(pod->path);
	g_free(pod);
}

/* The allocation is of the newcomer, if that was found after the grant, or of a later pod. */
static void pod_expect(RdmadPodWatch *watch, Pod *pod, const RdmadAllocation *allocation)
{
	if (allocation->number <= pod->newcomer_last)
		pod->is_settled = FALSE;
	else if (pod->life == RDMAD_POD_LIFE_ALIVE)
		pod_set_awaits(watch, pod, TRUE);
	settle_soon(watch, pod);
}

static void allocation_granted(const RdmadAllocation *allocation, gpointer data)
{
	RdmadPodWatch *watch = data;
	g_autofree char *name = NULL;
	Pod *pod;

	watch->youngest = MAX(watch->youngest, allocation->number);
	if (!allocation->pod_name || watch->inotify < 0)
		return;
	name = rdmad_pod_name(allocation->pod_namespace, allocation->pod_name);
	pod = g_hash_table_lookup(watch->by_name, name);
	if (!pod) {
		if (g_hash_table_size(watch->by_name) >= PODS_MAX)
			return;
		pod = g_new0(Pod, 1);
		pod->pod_namespace = g_strdup(allocation->pod_namespace);
		pod->pod_name = g_strdup(allocation->pod_name);
		pod->directory = pod->events = -1;
		watch->sought++;
		g_hash_table_insert(watch->by_name, g_steal_pointer(&name), pod);
	} else if (rdmad_pod_life_is_over(pod->life)) {
		/* Kubelet allocates nothing to a pod that has ended, so this is its successor. */
		pod_seek(watch, pod);
	}
	pod->lost_since_us = 0; /* kubelet has just admitted a pod of the name */
	pod->allocations++;
	if (!allocation->pod_cgroup)
		pod_expect(watch, pod, allocation);
	seek_again(watch);
}

static void allocation_ends(const RdmadAllocation *allocation, RdmadPodWatch *watch)
{
	g_autofree char *name = NULL;
	Pod *pod;

	if (!allocation->pod_name)
		return;
	if (allocation->pod_cgroup)
		rdmad_pod_cgroups_end_empty(watch->cgroups, allocation->pod_cgroup);
	name = rdmad_pod_name(allocation->pod_namespace, allocation->pod_name);
	pod = g_hash_table_lookup(watch->by_name, name);
	if (!pod || --pod->allocations)
		return;
	pod_unwatch(watch, pod);
	if (rdmad_pod_life_is_over(pod->life) && pod->uid)
		rdmad_pod_cgroups_end(watch->cgroups, pod->uid);
	pod_set_doubtful(watch, pod, FALSE);
	pod_set_awaits(watch, pod, FALSE);
	watch->sought -= pod->life == RDMAD_POD_LIFE_UNKNOWN;
	watch->ended -= rdmad_pod_life_is_over(pod->life);
	g_hash_table_remove(watch->by_name, name);
	if (!is_seeking(watch))
		g_hash_table_foreach_remove(watch->by_descriptor, parent_remove, watch);
}

static void allocation_changed(const RdmadAllocation *before, const RdmadAllocation *now,
			       gpointer data)
{
	if (rdmad_allocation_is_of_pod(before, now->pod_namespace, now->pod_name))
		return;
	allocation_granted(now, data);
	allocation_ends(before, data);
}

static void allocation_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	allocation_ends(allocation, data);
}

static const RdmadAllocationOps allocation_ops = { allocation_granted, allocation_changed,
						   allocation_ended };

/* ---- life cycle ---- */

static void inotify_open(RdmadPodWatch *watch)
{
	watch->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->inotify < 0) {
		set_inotify_problem(watch);
		return;
	}
	watch->readable = rdmad_loop_add_io(watch->loop, NULL, watch->inotify, RDMAD_IO_READ,
					    inotify_readable, watch, NULL);
	if (!watch->readable) {
		set_inotify_problem(watch);
		rdmad_clear_fd(&watch->inotify);
	}
}

RdmadPodWatch *rdmad_pod_watch_new(RdmadLoop *loop, RdmadWorkers *workers, RdmadSysroot *root,
				   RdmadAllocations *allocations, RdmadPods *pods)
{
	RdmadPodWatch *watch = g_new0(RdmadPodWatch, 1);

	watch->loop = loop;
	watch->workers = workers;
	watch->root = root;
	watch->allocations = allocations;
	watch->pods = pods;
	watch->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, pod_free);
	watch->cgroups = rdmad_pod_cgroups_new(root);
	watch->by_descriptor = g_hash_table_new(NULL, NULL);
	watch->settle = rdmad_loop_add_timer(loop, NULL, settle, watch);
	watch->seek = rdmad_loop_add_timer(loop, NULL, seek_now, watch);
	watch->seek_lost = rdmad_loop_add_timer(loop, NULL, seek_lost, watch);
	watch->scanned_us = -SCAN_GAP_US;
	inotify_open(watch);
	watch->watch = rdmad_allocations_watch(allocations, NULL, &allocation_ops, watch);
	rdmad_allocations_set_liveness(allocations, life_of, watch);
	return watch;
}

void rdmad_pod_watch_free(RdmadPodWatch *watch)
{
	if (!watch)
		return;
	rdmad_allocations_set_liveness(watch->allocations, NULL, NULL);
	rdmad_watch_free(watch->watch);
	rdmad_job_cancel(watch->scan);
	rdmad_event_free(watch->readable);
	rdmad_event_free(watch->settle);
	rdmad_event_free(watch->seek);
	rdmad_event_free(watch->seek_lost);
	rdmad_clear_fd(&watch->inotify);
	g_hash_table_unref(watch->by_descriptor);
	g_hash_table_unref(watch->by_name);
	rdmad_pod_cgroups_free(watch->cgroups);
	g_free(watch->problem);
	g_free(watch);
}

const char *rdmad_pod_watch_problem(const RdmadPodWatch *watch)
{
	return watch->problem;
}

guint rdmad_pod_watch_count(const RdmadPodWatch *watch)
{
	return g_hash_table_size(watch->by_name) - watch->sought - watch->ended;
}
