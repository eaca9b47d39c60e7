/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <rdmad/allocation-dir.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "disk.h"
#include "executor.h"
#include "kubelet.h"
#include "life.h"
#include "machine.h"
#include "node.h"
#include "tree.h"

/* A List times out after 10 s.  A running List does not cover a later call, so another one
 * follows. */
#define ANSWER_MAX_US	 (21 * SIM_S)
#define PRE_START_MAX_US (10 * SIM_S)
#define RELEASED_US	 (5 * SIM_S)
#define KUBELET_WAITS_US (30 * SIM_S) /* for PreStartContainer */

/* Until a plugin that was lost is registered again: kubelet notices the end of a stream late, rdmad
 * asks kubelet about that for 16 s, and waits up to 10 s after a Register that failed. */
#define REGISTERED_US (60 * SIM_S)
/* Until kubelet removes the devices of a stopped endpoint, also those of a list that came later,
 * and rdmad asks again. */
#define REMOVED_US (350 * SIM_S)

/* A resource of which kubelet has no plugin. */
typedef struct {
	gint64 since_us;  /* 0: it has one */
	gint64 hidden_us; /* until when podresources hid that */
} Lost;

static struct {
	Decisions *decisions;
	char *verdict;
	const char *rule;
	GHashTable *
		answered; /* set of the IDs of all allocations that were in a response to kubelet */
	GHashTable *whole; /* ID of an allocation -> change of its file that was found complete */
	guint unanswered;
	gboolean restarted, forgotten, late_end;
	gint64 forced_us; /* the end of the last pod whose deletion was forced */
	gint64 hung_us;	  /* until when podresources did not answer; G_MAXINT64: it does not */
	guint64 changes;  /* number of file changes at the last check */
	Lost lost[NODE_RESOURCES];
} judge;

void judge_begin(Decisions *decisions)
{
	judge.decisions = decisions;
	judge.answered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	judge.whole = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	judge.unanswered = 0;
	judge.restarted = judge.forgotten = judge.late_end = FALSE;
	judge.hung_us = judge.forced_us = 0;
	memset(judge.lost, 0, sizeof(judge.lost));
	judge_devices_begin();
	judge_disk_begin();
	judge_network_begin(decisions);
	judge_hand_over_begin();
	judge_scrapes_begin();
	g_clear_pointer(&judge.verdict, g_free);
}

void judge_end(void)
{
	judge_devices_end();
	judge_disk_end();
	judge_network_end();
	judge_scrapes_end();
	g_hash_table_unref(judge.answered);
	g_hash_table_unref(judge.whole);
}

void judge_fails(const char *format, ...)
{
	va_list args;

	if (judge.verdict)
		return;
	va_start(args, format);
	judge.verdict = g_strdup_vprintf(format, args);
	va_end(args);
	judge.rule = format;
	life_crash();
}

const char *judge_verdict(void)
{
	return judge.verdict;
}

const char *judge_rule(void)
{
	return judge.rule;
}

/* ---- calls ---- */

void judge_unanswered(void)
{
	judge.unanswered++;
}

void judge_podresources_hangs(gboolean hangs)
{
	judge.hung_us = hangs ? G_MAXINT64 : clock_now_us();
}

void judge_forced(gint64 until_us)
{
	judge.forced_us = MAX(judge.forced_us, until_us);
}

void judge_restarted(gboolean forgets)
{
	judge.restarted = TRUE;
	judge.forgotten |= forgets;
}

gboolean judge_names_are_doubtful(void)
{
	return judge.forgotten || judge.unanswered > 0;
}

void judge_answered(const Pod *pod, const Grant *grant, const char *error, gint64 took_us)
{
	g_autofree char *slots = grant ? g_strjoinv(",", grant->slots) : NULL;

	decisions_note(judge.decisions, "%s %s %s %s %" G_GINT64_FORMAT, pod->name,
		       error ? error : "granted", pod->resource, slots ? slots : "",
		       clock_now_us());
	if (took_us % SIM_NIGHT > ANSWER_MAX_US + judge_hand_over_takes_us(took_us))
		judge_fails("Allocate is answered late: after %.1f s", (double)took_us / SIM_S);
	/* A commit whose fsync failed may be on the disk after all, and exist after a crash. */
	if (error && strstr(error, "database"))
		judge_unanswered();
	/* A kubelet with its checkpoint offers only free slots, unless the device has a holder
	 * under another slot, of which it may not have been told yet, another kubelet assigned the
	 * slot, it has forgotten a pod that runs, a cgroup or its pods could not be read, or the
	 * table not written. */
	if (error && strstr(error, "is held by") && !judge.restarted &&
	    !judge_devices_have_holder(pod, error) &&
	    MAX(MAX(disk_failed_us(), judge.hung_us), judge.forced_us + RELEASED_US) <
		    clock_now_us() - took_us)
		judge_fails("a free device is refused: %s", error);
	if (error)
		return;
	g_hash_table_add(judge.answered, g_strdup(grant->id));
	judge_devices_answered(pod, grant);
}

/* rdmad must not delay the start of a container, and has no reason to forbid it in this world. */
void judge_pre_started(const Pod *pod, const char *error, gint64 took_us)
{
	decisions_note(judge.decisions, "%s %s %" G_GINT64_FORMAT, pod->name,
		       error ? error : "may start", clock_now_us());
	if (took_us >= SIM_NIGHT)
		return;
	if (took_us > PRE_START_MAX_US + judge_hand_over_takes_us(took_us) +
			      executor_waited_us(clock_now_us() - took_us))
		judge_fails("PreStartContainer is answered late: after %.1f s",
			    (double)took_us / SIM_S);
	else if (error && took_us < KUBELET_WAITS_US)
		judge_fails("a container may not start: %s of %s", error, pod->name);
	else if (!error)
		judge_plans_started(pod, took_us);
}

void judge_second(gboolean refused, guint64 changes)
{
	if (!refused)
		judge_fails("a second rdmad does not refuse to start");
	else if (changes)
		judge_fails("a second rdmad changes files: %u changes", (guint)changes);
}

/* Returns the number of the file's last change, which is unique (tree.c); 0: there is no file. */
static gsize change_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (gsize)st.st_ctim.tv_nsec : 0;
}

/* Reads a file again only after its change: parsing all after each step would take long. */
static void directory_check(const Pod *pod)
{
	g_autofree char *file = g_build_filename(pod->had->directory, "allocation.json", NULL);
	const gsize change = change_of(file);
	json_t *object;

	if (change && GPOINTER_TO_SIZE(g_hash_table_lookup(judge.whole, pod->had->id)) == change)
		return;
	object = judge_json(file);
	if (object)
		g_hash_table_replace(judge.whole, g_strdup(pod->had->id), GSIZE_TO_POINTER(change));
	else
		judge_fails("the directory of a running pod is not whole: %s of %s", pod->had->id,
			    pod->name);
	json_decref(object);
}

static void table_check(const Pod *pod, const Grant *grant)
{
	const RdmadAllocation *allocation = rdmad_allocations_lookup(life_allocations(), grant->id);

	if (!allocation)
		judge_fails("an acknowledged allocation is not in the table: %s of %s", grant->id,
			    pod->name);
	else if (!g_str_equal(allocation->resource, pod->resource) ||
		 g_strv_length(allocation->slots) != g_strv_length(grant->slots) ||
		 !g_strv_contains((const char *const *)allocation->slots, grant->slots[0]))
		judge_fails("an acknowledged allocation is another one now: %s of %s", grant->id,
			    pod->name);
}

/* ---- after each step ---- */

/* An adopted allocation has a pod. */
static void count_unknown(const RdmadAllocation *allocation, gpointer n)
{
	*(guint *)n +=
		!allocation->pod_name && !g_hash_table_contains(judge.answered, allocation->id);
}

/* An allocation without a response belongs to a call that was abandoned or is running. */
static void unknown_check(void)
{
	const guint allowed = judge.unanswered + kubelet_is_admitting();
	guint n = 0;

	rdmad_allocations_foreach(life_allocations(), count_unknown, &n);
	if (n > allowed)
		judge_fails("a refused Allocate left an allocation: %u unknown, %u given up", n,
			    allowed);
}

void judge_check(void)
{
	const GPtrArray *pods = pods_all();
	const guint64 changes = tree_changes();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];
		const Grant *grants[POD_GRANTS_MAX];

		if (pod->had && !pod_has_forgotten_init(pod) && changes != judge.changes)
			directory_check(pod);
		for (guint n = life_allocations() ? pod_grants(pod, grants) : 0; n-- > 0;)
			table_check(pod, grants[n]);
	}
	judge.changes = changes;
	judge_network_look();
	judge_hand_over_look();
	if (life_allocations())
		unknown_check();
}

/* ---- liveness ---- */

static guint sockets_in(const char *dir)
{
	g_autofree char *path = g_build_filename(node_options()->kubelet_dir, dir, NULL);
	g_autoptr(GDir) all = g_dir_open(path, 0, NULL);
	const char *name;
	guint n = 0;

	while (all && (name = g_dir_read_name(all)))
		n += g_str_has_prefix(name, "rdmad-");
	return n;
}

void judge_late_end(void)
{
	judge.late_end = TRUE;
	judge_hand_over_disturbed();
}

/* Returns whether kubelet's list of the resource may be without a healthy slot. */
static gboolean may_be_unhealthy(const NodeResource *resource)
{
	const ListCounts counts = judge_devices_expect(resource);

	return counts.healthy == counts.returning;
}

void judge_calm(void)
{
	const gint64 now_us = clock_now_us();

	for (guint i = 0; i < NODE_RESOURCES; i++) {
		const char *name = node_resources[i].name;
		Lost *lost = &judge.lost[i];

		/* Without a healthy slot, podresources does not show that kubelet has stopped the
		 * plugin. */
		if (kubelet_endpoints(name) || !life_is_on() || !life_allocations() ||
		    may_be_unhealthy(&node_resources[i])) {
			*lost = (Lost){ 0 };
			continue;
		}
		if (!lost->since_us)
			lost->since_us = lost->hidden_us = now_us;
		if ((judge.late_end || judge_hand_over_was()) && kubelet_hides_stop(name))
			lost->hidden_us = now_us;
		if (now_us - lost->hidden_us > REGISTERED_US ||
		    now_us - lost->since_us > REMOVED_US + REGISTERED_US)
			judge_fails("a resource stays without a plugin: %s", name);
	}
}

static void list_check(const NodeResource *resource)
{
	const GPtrArray *list = kubelet_list(resource->name);
	const ListCounts expected = judge_devices_expect(resource);
	guint healthy = 0;

	for (guint i = 0; list && i < list->len; i++)
		healthy += ((const ListedSlot *)list->pdata[i])->healthy;
	if (may_be_unhealthy(resource) && !kubelet_endpoints(resource->name))
		return; /* as in judge_calm() */
	if (kubelet_endpoints(resource->name) != 1)
		judge_fails("not one endpoint of a resource: %s has %u", resource->name,
			    kubelet_endpoints(resource->name));
	else if (healthy > expected.healthy || healthy + expected.returning < expected.healthy ||
		 list->len != expected.slots)
		judge_fails("kubelet has another list: %s, %u healthy of %u, not %u of %u",
			    resource->name, healthy, list->len, expected.healthy, expected.slots);
}

static void lists_check(void)
{
	const guint sockets = sockets_in("device-plugins") + sockets_in("plugins_registry");

	for (guint i = 0; i < NODE_RESOURCES; i++)
		if (node_resources[i].devices)
			list_check(&node_resources[i]);
		else if (kubelet_endpoints(node_resources[i].name))
			judge_fails("a resource stays that the configuration lacks: %s",
				    node_resources[i].name);
	if (sockets != node_resources_offered())
		judge_fails("sockets are left that nobody serves: %u", sockets);
}

static gboolean pod_has_slot(const Pod *pod, const char *slot)
{
	const Grant *grants[POD_GRANTS_MAX];

	for (guint n = pod_grants(pod, grants); n-- > 0;)
		if (g_strv_contains((const char *const *)grants[n]->slots, slot))
			return TRUE;
	return FALSE;
}

static gboolean slot_is_free_for(const char *slot, const Pod *waits)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];

		if (pod != waits && pod->state != POD_ENDED &&
		    g_str_equal(pod->resource, waits->resource) && pod_has_slot(pod, slot))
			return FALSE;
	}
	return TRUE;
}

static guint slots_free_for(const Pod *waits)
{
	const GPtrArray *list = kubelet_list(waits->resource);
	guint n = 0;

	for (guint i = 0; list && i < list->len; i++) {
		const ListedSlot *slot = list->pdata[i];

		n += slot->healthy && slot_is_free_for(slot->slot, waits);
	}
	return n;
}

static void pod_check(const Pod *pod)
{
	/* Kubelet starts no container without its plugin. */
	if (!node_resource(pod->resource)->devices)
		return;
	if (pod->state == POD_STARTING || pod->state == POD_ADMITTING)
		judge_fails("a pod never starts: %s", pod->name);
	else if (pod->state == POD_WAITING &&
		 slots_free_for(pod) >= MAX(pod->wanted, pod->init_wanted))
		judge_fails("a pod waits, and there are slots: %s", pod->name);
}

static void pods_check(GHashTable *wanted)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];
		const Grant *grants[POD_GRANTS_MAX];

		/* A pod that kubelet has forgotten may have its device. */
		if (pod->state == POD_STARTING && node_has(NODE_CNI) &&
		    judge_names_are_doubtful() && !judge_network_puts_off(pod))
			continue;
		pod_check(pod);
		for (guint n = pod_grants(pod, grants); n-- > 0;)
			g_hash_table_add(wanted, grants[n]->id);
	}
}

/* Returns whether rdmad may keep an allocation too long, because podresources does not tell: an
 * allocation named after a living pod (a slot that was assigned again during admission may count as
 * that of an init container), and an allocation whose call was abandoned, or whose kubelet lost its
 * checkpoint before it named the pod. */
static gboolean may_stay(const RdmadAllocation *allocation)
{
	const GPtrArray *pods = pods_all();

	if (!allocation->pod_name)
		return judge.unanswered > 0 || judge.forgotten;
	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];
		const Grant *grants[POD_GRANTS_MAX];

		if ((pod_grants(pod, grants) || judge.forgotten) &&
		    g_str_equal(pod->name, allocation->pod_name))
			return TRUE;
	}
	return FALSE;
}

static void find_stale(const RdmadAllocation *allocation, gpointer wanted)
{
	if (may_stay(allocation))
		g_hash_table_add(wanted, allocation->id);
	if (!g_hash_table_contains(wanted, allocation->id))
		judge_fails("an allocation does not end: %s of %s", allocation->id,
			    allocation->pod_name ? allocation->pod_name : "nobody");
}

void judge_quiet(void)
{
	g_autoptr(GHashTable) wanted = g_hash_table_new(g_str_hash, g_str_equal);
	g_auto(GStrv) directories = NULL;

	lists_check();
	pods_check(wanted);
	rdmad_allocations_foreach(life_allocations(), find_stale, wanted);
	/* rdmad keeps a directory that matches no allocation while a pod with its slots may
	 * live. */
	directories =
		g_hash_table_size(wanted) ? NULL : rdmad_allocation_dir_list(node_run_dir(), NULL);
	for (guint i = 0; directories && directories[i]; i++)
		if (!g_hash_table_contains(wanted, directories[i]))
			judge_fails("the directory of an ended allocation stays: %s",
				    directories[i]);
	judge_network_quiet();
	judge_scrapes_quiet();
	judge_plans_quiet();
	judge_labels_quiet();
	decisions_note(judge.decisions, "quiet: %u allocations",
		       rdmad_allocations_count(life_allocations()));
}
