/* SPDX-License-Identifier: Apache-2.0 */
#include "plants.h"

#include <jansson.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/clock.h>
#include <rdmad/counters.h>
#include <rdmad/directory-watch.h>
#include <rdmad/disk.h>
#include <rdmad/hand-over.h>
#include <rdmad/preparations.h>
#include <rdmad/socket-file.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/lock.h"
#include "hardware/cgroup-tree.h"
#include "journal.h"
#include "daemon/succession.h"
#include "life.h"
#include "network.h"
#include "network/perform.h"
#include "nic/journal.h"
#include "server.h"
#include "service/allocations-table.h"
#include "service/state.h"
#include "turns.h"

static const char *const names[N_PLANTS] = {
	"none",	       "late-commit", "no-sync",	 "torn-rename",	 "lost-directory",
	"freed-first", "stale-list",  "no-registration", "left-open",	 "wall-clock",
	"two-holders", "by-slot",     "no-undo",	 "late-journal", "events-alone",
	"init-ended",  "no-limit",    "no-lock",	 "no-replay",	 "no-release",
	"late-begin",  "unfrozen",    "older-parts",	 "no-return",	 "not-taken",
	"no-gap",      "first-route", "no-repair",	 "no-addresses", "old-reading",
	"no-deadline", "no-pods",     "half-a-plan",	 "unprepared",	 "labels-stay",
	"no-retry",
};

static Plant planted;
static gboolean uncommitted;

const char *plant_name(Plant plant)
{
	return names[plant];
}

Plant plant_of(const char *name)
{
	guint i = 0;

	while (i < N_PLANTS && !g_str_equal(names[i], name))
		i++;
	return (Plant)i;
}

void plant_set(Plant plant)
{
	planted = plant;
}

gboolean plant_skips_sync(const char *path)
{
	return (planted == PLANT_NO_SYNC && strstr(path, "rdmad.db")) ||
	       (planted == PLANT_TORN_RENAME && g_str_has_suffix(path, ".tmp"));
}

gboolean plant_skips_release(void)
{
	return planted == PLANT_NO_RELEASE;
}

gboolean plant_skips_change(void)
{
	return planted == PLANT_NO_REPAIR;
}

/* ---- replaced functions ---- */

/* Declares the real function and defines its replacement. */
#define BEFORE(type, name, ...)                                                                    \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

BEFORE(gboolean, rdmad_state_commit, RdmadState *state, GError **error)
{
	if (planted != PLANT_LATE_COMMIT)
		return __real_rdmad_state_commit(state, error);
	uncommitted = TRUE;
	return TRUE;
}

BEFORE(gboolean, rdmad_state_begin, RdmadState *state, GError **error)
{
	if (uncommitted)
		__real_rdmad_state_commit(state, NULL);
	uncommitted = FALSE;
	return __real_rdmad_state_begin(state, error);
}

/* A single statement would be committed before the response. */
BEFORE(gboolean, rdmad_state_begin_single, RdmadState *state, GError **error)
{
	return planted == PLANT_LATE_COMMIT ? __wrap_rdmad_state_begin(state, error)
					    : __real_rdmad_state_begin_single(state, error);
}

BEFORE(int, rdmad_disk_mkdir, int dir, const char *path, mode_t mode, RdmadDiskLife life)
{
	if (planted == PLANT_LOST_DIRECTORY)
		return mkdirat(dir, path, mode);
	return __real_rdmad_disk_mkdir(dir, path, mode, life);
}

/* Also forges the time of the request. */
BEFORE(void, rdmad_allocations_reconcile, RdmadAllocations *allocations, const RdmadPodList *list)
{
	RdmadPodList *changed = (RdmadPodList *)list;

	if (planted == PLANT_STALE_LIST || planted == PLANT_FREED_FIRST)
		changed->asked_us =
			rdmad_now_us() + (planted == PLANT_FREED_FIRST ? 100 * G_USEC_PER_SEC : 0);
	__real_rdmad_allocations_reconcile(allocations, list);
}

/* Three events cause a new registration: a change in kubelet's directories, the end of the stream,
 * and the list of allocatable devices.  The fault hides all of them after the first stream of a
 * life. */
typedef struct Registration Registration;
typedef struct PluginServer PluginServer;
typedef struct EndpointCheck EndpointCheck;
typedef struct Kubelet Kubelet;

static const RdmadAllocations *registered; /* the table of the life that has registered */

BEFORE(guint, plugin_server_streams, const PluginServer *server)
{
	const guint streams = __real_plugin_server_streams(server);

	if (planted != PLANT_NO_REGISTRATION)
		return streams;
	registered = life_allocations();
	return MAX(streams, 1);
}

BEFORE(void, registration_kubelet_changed, Registration *registration)
{
	if (planted != PLANT_NO_REGISTRATION || registered != life_allocations())
		__real_registration_kubelet_changed(registration);
}

BEFORE(void, endpoint_check_begin, EndpointCheck *check)
{
	if (planted != PLANT_NO_REGISTRATION)
		__real_endpoint_check_begin(check);
}

BEFORE(void, rdmad_directory_watch_free, RdmadDirectoryWatch *watch)
{
	if (planted != PLANT_LEFT_OPEN)
		__real_rdmad_directory_watch_free(watch);
}

BEFORE(gint64, rdmad_now_us, void)
{
	return planted == PLANT_WALL_CLOCK ? rdmad_wall_us() : __real_rdmad_now_us();
}

BEFORE(RdmadHolder, rdmad_allocations_judge, RdmadAllocations *allocations,
       const RdmadAllocationRecord *record, gint64 asked_us, const char **why)
{
	RdmadHolder holder;

	if (planted == PLANT_TWO_HOLDERS)
		return RDMAD_HOLDER_SHARES;
	holder = __real_rdmad_allocations_judge(allocations, record, asked_us, why);
	if (planted != PLANT_INIT_ENDED || holder != RDMAD_HOLDER_SHARES)
		return holder;
	*why = "its slots were given again";
	return RDMAD_HOLDER_OVER;
}

BEFORE(const RdmadAllocation *, rdmad_allocations_find_holder, RdmadAllocations *allocations,
       const char *device_id, RdmadHold hold,
       gboolean (*is_wanted)(const RdmadAllocation *holder, gpointer data), gpointer data)
{
	return planted == PLANT_BY_SLOT ? NULL
					: __real_rdmad_allocations_find_holder(
						  allocations, device_id, hold, is_wanted, data);
}

BEFORE(int, rdmad_lock_try, const char *path, const RdmadLockHolder *self, RdmadLockHolder *holder,
       GError **error)
{
	if (planted == PLANT_NO_LOCK)
		unlink(path);
	return __real_rdmad_lock_try(path, self, holder, error);
}

typedef struct PreStart PreStart;
typedef struct ResourceSettings ResourceSettings;

BEFORE(void, pre_start_serve, PreStart *pre_start, ResourceSettings *resource, RdmadGrpcCall *call,
       const guint8 *message, gsize size)
{
	if (planted != PLANT_NO_LIMIT)
		__real_pre_start_serve(pre_start, resource, call, message, size);
}

/* Of the first rdmad, and while a second one starts of that. */
static struct {
	RdmadPodLifeFunc life;
	gpointer data;
} watched[2];
static guint n_watched;
static gboolean judging;

static RdmadPodLife life_known(const char *pod_namespace, const char *pod_name,
			       const char *pod_cgroup, gpointer data)
{
	RdmadPodLife life;

	judging = planted == PLANT_EVENTS_ALONE;
	life = watched[n_watched - 1].life(pod_namespace, pod_name, pod_cgroup,
					   watched[n_watched - 1].data);
	judging = FALSE;
	return life;
}

BEFORE(void, rdmad_allocations_set_liveness, RdmadAllocations *allocations, RdmadPodLifeFunc life,
       gpointer data)
{
	if (!life) {
		n_watched--;
	} else {
		watched[n_watched].life = life;
		watched[n_watched++].data = data;
	}
	__real_rdmad_allocations_set_liveness(allocations, life ? life_known : NULL, NULL);
}

BEFORE(RdmadCgroupState, rdmad_cgroup_state, const RdmadSysroot *root, const char *path)
{
	return judging ? RDMAD_CGROUP_UNREADABLE : __real_rdmad_cgroup_state(root, path);
}

BEFORE(gboolean, perform_undo, const PerformContext *ctx, const RdmadStep *step, GError **error)
{
	return planted == PLANT_NO_UNDO || __real_perform_undo(ctx, step, error);
}

BEFORE(void, cni_journal_write, CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
       gpointer data)
{
	if ((planted == PLANT_LATE_JOURNAL && attachment->state == CNI_STATE_PLANNED) ||
	    (planted == PLANT_LATE_BEGIN && attachment->state == CNI_STATE_BEGUN))
		done(NULL, data);
	else
		__real_cni_journal_write(journal, attachment, done, data);
}

BEFORE(void, cni_server_reconcile, CniServer *server, gboolean at_start)
{
	if (planted != PLANT_NO_REPLAY)
		__real_cni_server_reconcile(server, at_start);
}

/* It leads to the same, inside server.c. */
BEFORE(void, cni_server_hint, CniServer *server)
{
	if (planted != PLANT_NO_REPLAY)
		__real_cni_server_hint(server);
}

/* A stream that begins during a hand-over needs both: the freeze, and a successor that registers
 * again because kubelet was connected. */
BEFORE(void, plugin_server_freeze, PluginServer *server, void (*still)(gpointer data),
       gpointer data)
{
	if (planted == PLANT_UNFROZEN && !__real_plugin_server_streams(server))
		still(data);
	else
		__real_plugin_server_freeze(server, still, data);
}

BEFORE(gboolean, kubelet_lives, const Kubelet *kubelet, const RdmadSocketFile *file)
{
	return planted != PLANT_UNFROZEN && __real_kubelet_lives(kubelet, file);
}

BEFORE(void, rdmad_hand_over_discard, RdmadHandOver *hand_over)
{
	if (planted != PLANT_OLDER_PARTS)
		__real_rdmad_hand_over_discard(hand_over);
}

BEFORE(void, rdmad_succession_judge, RdmadSuccession *succession, const RdmadLockHolder *last)
{
	static const RdmadLockHolder unknown;

	__real_rdmad_succession_judge(succession, planted == PLANT_NO_RETURN ? &unknown : last);
}

BEFORE(RdmadInheritedPart *, rdmad_hand_over_take, RdmadHandOver *hand_over, const char *name)
{
	return planted == PLANT_NOT_TAKEN ? NULL : __real_rdmad_hand_over_take(hand_over, name);
}

BEFORE(void, rdmad_event_arm_within, RdmadEvent *event, guint ms)
{
	__real_rdmad_event_arm_within(event, planted == PLANT_NO_GAP ? 0 : ms);
}

typedef struct Planner Planner;

BEFORE(gboolean, erdma_plan_metric, Planner *planner, const RdmadIp *to, guint32 *metric)
{
	const gboolean found = __real_erdma_plan_metric(planner, to, metric);

	if (planted == PLANT_FIRST_ROUTE)
		*metric = 0;
	return found;
}

BEFORE(ErdmaJournal *, erdma_journal_open, RdmadModule *self, GError **error)
{
	ErdmaJournal *journal = __real_erdma_journal_open(self, error);

	for (guint nic = 0; planted == PLANT_NO_ADDRESSES && nic < NETWORK_NICS; nic++) {
		g_autofree char *text = network_nic_mac(nic);
		RdmadMac mac;

		g_assert_true(rdmad_mac_parse(text, &mac));
		g_clear_pointer(&erdma_journal_entry(journal, &mac)->done, erdma_nic_network_free);
	}
	return journal;
}

BEFORE(RdmadReading *, rdmad_counter_reader_read, RdmadCounterReader *reader, const RdmadJob *job,
       GError **error)
{
	static guint64 first[64];
	static guint n_first;
	RdmadReading *reading = __real_rdmad_counter_reader_read(reader, job, error);

	for (guint i = 0; planted == PLANT_OLD_READING && reading && i < reading->n_counters; i++) {
		if (i == n_first && n_first < G_N_ELEMENTS(first))
			first[n_first++] = reading->counters[i].value;
		if (i < n_first)
			reading->counters[i].value = first[i];
	}
	return reading;
}

typedef struct Collector Collector;
typedef struct CollectorRequest CollectorRequest;
typedef struct Snapshot Snapshot;
typedef void (*CollectorFunc)(Snapshot *snapshot, gpointer data);

BEFORE(CollectorRequest *, collector_request, Collector *collector, guint deadline_ms,
       CollectorFunc fn, gpointer data)
{
	return __real_collector_request(
		collector, planted == PLANT_NO_DEADLINE ? G_MAXINT32 : deadline_ms, fn, data);
}

typedef struct FamilySet FamilySet;

BEFORE(void, render_allocations, FamilySet *set, RdmadAllocations *allocations,
       RdmadInventory *inventory)
{
	if (planted != PLANT_NO_PODS)
		__real_render_allocations(set, allocations, inventory);
}

BEFORE(gboolean, rdmad_allocation_dir_write_bytes, const char *run_dir, const char *id,
       const char *file, GBytes *bytes, GError **error)
{
	return (planted == PLANT_HALF_A_PLAN && g_str_equal(file, "nccl.env")) ||
	       __real_rdmad_allocation_dir_write_bytes(run_dir, id, file, bytes, error);
}

static void prepare_nothing(const RdmadAllocation *allocation, RdmadPreparation *preparation,
			    gpointer data)
{
	rdmad_preparation_finish(preparation);
}

BEFORE(RdmadPreparer *, rdmad_preparations_add, RdmadPreparations *preparations, RdmadModule *owner,
       RdmadPrepareFunc prepare, gpointer data)
{
	return __real_rdmad_preparations_add(
		preparations, owner, planted == PLANT_UNPREPARED ? prepare_nothing : prepare, data);
}

typedef struct KubeCall KubeCall;
typedef struct KubeCallClass KubeCallClass;
typedef struct KubeClient KubeClient;

BEFORE(KubeCall *, kube_client_call, KubeClient *client, const KubeCallClass *klass,
       const char *path, const json_t *body, gpointer data)
{
	json_t *labels = json_object_get(json_object_get(body, "metadata"), "labels"), *value;
	const char *name;
	void *next;

	json_object_foreach_safe(labels, next, name, value)
	{
		if (planted == PLANT_LABELS_STAY && json_is_null(value))
			json_object_del(labels, name);
	}
	return __real_kube_client_call(client, klass, path, body, data);
}

BEFORE(guint, kube_client_back_off_ms, const KubeClient *client, guint failures,
       guint retry_after_ms)
{
	return planted == PLANT_NO_RETRY
		       ? G_MAXINT32
		       : __real_kube_client_back_off_ms(client, failures, retry_after_ms);
}
