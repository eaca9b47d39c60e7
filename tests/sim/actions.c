/* SPDX-License-Identifier: Apache-2.0 */
#include "actions.h"

#include <stdio.h>
#include <string.h>

#include "apiserver.h"
#include "children.h"
#include "client.h"
#include "clock.h"
#include "executor.h"
#include "forced.h"
#include "ipam.h"
#include "judge.h"
#include "kubelet.h"
#include "life.h"
#include "machine.h"
#include "managers.h"
#include "metadata.h"
#include "network.h"
#include "node.h"
#include "relay.h"
#include "runtime.h"
#include "tree.h"

#define PODS_MAX    10u
#define EFFECTS_MAX 60u
#define WINDOW_US   SIM_S
#define CALM_US	    (20 * SIM_S)
#define NAMED_US    SIM_S

static const char *const names[N_ACTIONS] = {
	"nothing", "pod",      "burst",	    "exit",    "delete",   "force",    "restart",
	"reload",  "rename",   "second",    "stop",    "handover", "gc",       "status",
	"check",   "label",    "command",   "scrape",  "kubelet",  "wipe",     "hang",
	"port",	   "plug",     "disk",	    "clock",   "suspend",  "executor", "netlink",
	"ipam",	   "metadata", "apiserver", "manager", "crash",	   "power",
};

typedef enum {
	LATER_KUBELET,
	LATER_HANG,
	LATER_DISK,
	LATER_NETLINK,
	LATER_IPAM,
	LATER_METADATA,
	LATER_APISERVER,
	LATER_MANAGER,
	N_LATER
} Later;

static struct {
	Decisions *decisions;
	KubeletEra era;
	gint64 later_us[N_LATER]; /* G_MAXINT64: not pending */
	gboolean power_fails;	  /* the pending crash is a power failure */
	DiskOutcome outcome;
	gboolean forgets; /* the kubelet of the next boot has no checkpoint */
	guint down;
	gint64 last_us[N_ACTIONS];
	gint64 fault_us; /* of the last one, or of its end */
	guint64 pairs[N_ACTIONS][N_ACTIONS];
} actions;

const char *action_name(guint action)
{
	return names[action];
}

int action_of(const char *name)
{
	for (guint i = 0; i < N_ACTIONS; i++)
		if (g_str_equal(names[i], name))
			return (int)i;
	return -1;
}

static void fault_note(void)
{
	actions.fault_us = clock_now_us();
	judge_hand_over_disturbed();
}

/* ---- pods ---- */

/* Returns one of the resources that the configuration has. */
static const NodeResource *resource_choose(void)
{
	guint left = decide(actions.decisions, DECIDE_WHICH, node_resources_offered());
	const NodeResource *resource = node_resources;

	while (!resource->devices || left--)
		resource++;
	return resource;
}

static void pod_create(void)
{
	const NodeResource *resource = resource_choose();

	if (pods_all()->len < PODS_MAX) {
		Pod *pod = pods_create(resource->name, 1 + decide(actions.decisions, DECIDE_HOW, 2),
				       decide_rarely(actions.decisions, DECIDE_INIT, 4, 3));

		pod->is_bound = decide_rarely(actions.decisions, DECIDE_SCHEDULER, 6, 2) != 0;
	}
	kubelet_sync_pods();
}

/* Returns the n-th pod in this state, or NULL. */
static Pod *pod_choose(PodState state)
{
	const GPtrArray *pods = pods_all();
	const guint first = pods->len ? decide(actions.decisions, DECIDE_WHICH, pods->len) : 0;

	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[(first + i) % pods->len];

		if (pod->state == state)
			return pod;
	}
	return NULL;
}

/* Ends a pod that runs, or whose network is being made. */
static void pod_end(void)
{
	Pod *pod = pod_choose(POD_RUNNING);

	if (!pod && node_has(NODE_CNI))
		pod = pod_choose(POD_STARTING);
	if (!pod)
		return;
	pod_exit(pod);
	runtime_pod_ended(pod);
	kubelet_sync_pods();
}

static void container_restart(void)
{
	Pod *pod = pod_choose(POD_RUNNING);
	RdmadGrpcChannel *channel;

	/* Without its devices in kubelet's books it would fail before PreStartContainer. */
	if (!pod || (!pod->grant && kubelet_pre_start(pod->resource, &channel)))
		return;
	pod_restart(pod);
	kubelet_sync_pods();
}

static void pod_delete(void)
{
	Pod *pod = pod_choose(POD_ENDED);

	if (pod)
		pods_delete(pod);
}

/* Kubelet's list has named its allocation, undisturbed: that of an unnamed one ends when kubelet
 * forgets it. */
static gboolean is_known(const Pod *pod)
{
	for (guint i = 0; i < N_LATER; i++)
		if (actions.later_us[i] != G_MAXINT64)
			return FALSE;
	return !pod->may_be_readmitted && pod->listed_us > actions.fault_us && life_is_on() &&
	       clock_now_us() - MAX(pod->listed_us, forced_unseen_until_us()) > NAMED_US;
}

static void pod_force_deletion(void)
{
	Pod *pod = pod_choose(POD_RUNNING);

	if (!pod || !is_known(pod))
		return;
	forced_delete(pod, actions.decisions);
	judge_forced(pod->forced_until_us);
}

/* ---- kubelet ---- */

static void admission_given_up(void)
{
	if (kubelet_is_admitting())
		judge_unanswered();
}

static void kubelet_restart(void)
{
	static const gint64 pauses_us[] = { 100 * SIM_MS, 3 * SIM_S, 40 * SIM_S };
	const guint how = decide(actions.decisions, DECIDE_HOW, 2 * G_N_ELEMENTS(pauses_us));

	admission_given_up();
	judge_restarted(how >= G_N_ELEMENTS(pauses_us));
	kubelet_stop(how >= G_N_ELEMENTS(pauses_us));
	actions.later_us[LATER_KUBELET] = clock_now_us() + pauses_us[how % G_N_ELEMENTS(pauses_us)];
}

static void end_later(Later what, const gint64 *for_us, guint n)
{
	actions.later_us[what] = clock_now_us() + for_us[decide(actions.decisions, DECIDE_HOW, n)];
}

static void kubelet_hang(void)
{
	static const gint64 for_us[] = { 2 * SIM_S, 30 * SIM_S };

	kubelet_set_hung(TRUE);
	judge_podresources_hangs(TRUE);
	end_later(LATER_HANG, for_us, G_N_ELEMENTS(for_us));
}

/* ---- the machine ---- */

static void port_flip(void)
{
	const guint device = decide(actions.decisions, DECIDE_WHICH, MACHINE_DEVICES);

	machine_set_port(device, !machine_is_up(device));
	life_hint_hardware();
}

static void device_flip(void)
{
	const guint device = decide(actions.decisions, DECIDE_WHICH, MACHINE_DEVICES);

	machine_plug(device, !machine_has(device));
	life_hint_hardware();
}

static void disk_fail(void)
{
	static const gint64 for_us[] = { 50 * SIM_MS, 2 * SIM_S, 30 * SIM_S };

	forced_unseen(clock_now_us());
	disk_set_fault((DiskFault)(1 + decide(actions.decisions, DECIDE_HOW, N_DISK_FAULTS - 1)));
	end_later(LATER_DISK, for_us, G_N_ELEMENTS(for_us));
}

static void netlink_fail(void)
{
	static const gint64 for_us[] = { 1 * SIM_S, 40 * SIM_S };

	judge_disturbed();
	network_set_refusing(TRUE);
	end_later(LATER_NETLINK, for_us, G_N_ELEMENTS(for_us));
}

static void ipam_fail(void)
{
	static const gint64 for_us[] = { 1 * SIM_S, 40 * SIM_S };

	children_set_failing(TRUE);
	end_later(LATER_IPAM, for_us, G_N_ELEMENTS(for_us));
}

static void metadata_fail(void)
{
	static const gint64 for_us[] = { 1 * SIM_S, 40 * SIM_S };

	metadata_set_failing(TRUE);
	end_later(LATER_METADATA, for_us, G_N_ELEMENTS(for_us));
}

static void apiserver_fail(void)
{
	static const gint64 for_us[] = { 1 * SIM_S, 40 * SIM_S };

	apiserver_set_failing(TRUE);
	end_later(LATER_APISERVER, for_us, G_N_ELEMENTS(for_us));
}

static void clock_change(void)
{
	static const gint64 by_s[] = { 3600, -3600, 315360000, -315360000 };

	clock_jump_wall(by_s[decide(actions.decisions, DECIDE_HOW, G_N_ELEMENTS(by_s))] * SIM_S);
}

static void device_scrape(void)
{
	machine_count(decide(actions.decisions, DECIDE_WHICH, MACHINE_DEVICES), 1);
	client_scrape_somehow();
}

/* ---- the end of a life of rdmad ---- */

static void second_start(void)
{
	const guint64 changes = tree_changes();

	LifeEnd how;

	if (!life_is_on() || life_is_over())
		return;
	how = life_second(node_options());
	judge_second(how == LIFE_FAILED, tree_changes() - changes);
}

/* Kubelet notices nothing if there was no fault for some time, and none follows.  An rdmad that was
 * told to stop before has closed connections already. */
static void hand_over(void)
{
	const gboolean now = decide(actions.decisions, DECIDE_HOW, 2) == 0;
	gboolean is_calm = clock_now_us() - actions.fault_us > CALM_US && !life_is_stopping();

	for (guint i = 0; i < N_LATER; i++)
		is_calm &= actions.later_us[i] == G_MAXINT64;
	if (!life_is_over() && relay_ask(now))
		judge_hand_over_asked(is_calm);
}

static void crash_soon(gboolean with_power)
{
	const guint effects = decide(actions.decisions, DECIDE_EFFECTS, EFFECTS_MAX);

	if (with_power) {
		actions.power_fails = TRUE;
		actions.outcome =
			(DiskOutcome)decide(actions.decisions, DECIDE_HOW, N_DISK_OUTCOMES);
		actions.forgets = decide_rarely(actions.decisions, DECIDE_HOW, 6, 2) != 0;
	}
	actions.down = decide(actions.decisions, DECIDE_HOW, 3);
	if (!effects)
		life_crash();
	else
		life_crash_at(effects - 1);
	if (with_power && !life_is_on())
		actions_life_ended(LIFE_CRASHED);
}

static void power_cut(void)
{
	actions.power_fails = FALSE;
	fault_note();
	relay_drop();
	admission_given_up();
	judge_restarted(actions.forgets);
	kubelet_stop(actions.forgets);
	disk_cut_power(actions.outcome);
	ipam_cut_power(actions.outcome);
	children_cut_power();
	executor_cut_power();
	node_clear_run();
	machine_reboot();
	network_reboot();
	managers_reboot();
	pods_reboot();
	runtime_reboot();
	actions.later_us[LATER_HANG] = G_MAXINT64;
	actions.later_us[LATER_KUBELET] = clock_now_us() + 5 * SIM_S;
}

/* Allocations that rdmad has granted without a response stay until kubelet's list lacks them. */
void actions_life_ended(LifeEnd how)
{
	judge_disturbed();
	judge_scrapes_restarted();
	client_disturb();
	if (how != LIFE_STOPPED)
		actions.fault_us = clock_now_us();
	relay_life_ended(how);
	if (!relay_holds())
		judge_hand_over_disturbed();
	else if (how == LIFE_FAILED)
		judge_successor_failed();
	admission_given_up();
	node_configure(NODE_CONFIG_SAME); /* the operator has corrected an invalid configuration */
	if (actions.power_fails)
		power_cut();
}

gint64 actions_down_us(void)
{
	static const gint64 down_us[] = { 100 * SIM_MS, 2 * SIM_S, 70 * SIM_S };
	/* A successor waits already. */
	const guint how = relay_holds() ? 0 : actions.down;

	actions.down = 0;
	return down_us[how];
}

/* ---- one step ---- */

static void pairs_note(Action action)
{
	const gint64 now_us = clock_now_us();

	actions.last_us[action] = now_us;
	for (guint i = 0; i < N_ACTIONS; i++) {
		if (!actions.last_us[i] || now_us - actions.last_us[i] > WINDOW_US)
			continue;
		actions.pairs[i][action]++;
		if (i != action)
			actions.pairs[action][i]++;
	}
}

void action_do(Action action, Decisions *decisions)
{
	pairs_note(action);
	if (action >= ACTION_KUBELET)
		fault_note();
	decisions_note(decisions, "%s %" G_GINT64_FORMAT, names[action], clock_now_us());
	switch (action) {
	case ACTION_BURST:
		for (guint n = 2 + decide(decisions, DECIDE_HOW, 4); n--;)
			pod_create();
		break;
	case ACTION_POD:
		pod_create();
		break;
	case ACTION_EXIT:
		pod_end();
		break;
	case ACTION_DELETE:
		pod_delete();
		break;
	case ACTION_FORCE:
		pod_force_deletion();
		break;
	case ACTION_RESTART:
		container_restart();
		break;
	case ACTION_RELOAD:
		node_configure((NodeConfig)decide(decisions, DECIDE_HOW, NODE_CONFIG_BROKEN + 1));
		client_disturb();
		if (node_has(NODE_METRICS_GO))
			judge_scrapes_restarted();
		life_reload();
		break;
	case ACTION_RENAME:
		fault_note(); /* kubelet notices it */
		node_set_layout(decide(decisions, DECIDE_HOW, NODE_LAYOUTS));
		client_disturb();
		life_reload();
		break;
	case ACTION_SECOND:
		second_start();
		break;
	case ACTION_STOP:
		judge_disturbed();
		if (!relay_asks())
			judge_hand_over_disturbed();
		actions.down = decide(decisions, DECIDE_HOW, 3);
		life_stop();
		break;
	case ACTION_HANDOVER:
		hand_over();
		break;
	case ACTION_KUBELET:
		kubelet_restart();
		break;
	case ACTION_WIPE:
		kubelet_wipe_sockets();
		break;
	case ACTION_HANG:
		kubelet_hang();
		break;
	case ACTION_PORT:
		port_flip();
		break;
	case ACTION_PLUG:
		device_flip();
		break;
	case ACTION_DISK:
		disk_fail();
		break;
	case ACTION_CLOCK:
		clock_change();
		break;
	case ACTION_SUSPEND:
		client_disturb();
		clock_move_to(clock_now_us() + SIM_NIGHT);
		fault_note(); /* its end */
		break;
	case ACTION_GC:
		runtime_collect();
		break;
	case ACTION_STATUS:
		runtime_ask_status();
		break;
	case ACTION_CHECK:
		runtime_check(decide(decisions, DECIDE_WHICH, PODS_MAX));
		break;
	case ACTION_LABEL:
		apiserver_change();
		break;
	case ACTION_COMMAND:
		client_command();
		break;
	case ACTION_SCRAPE:
		device_scrape();
		break;
	case ACTION_EXECUTOR:
		judge_disturbed();
		executor_kill();
		break;
	case ACTION_NETLINK:
		netlink_fail();
		break;
	case ACTION_IPAM:
		ipam_fail();
		break;
	case ACTION_METADATA:
		metadata_fail();
		break;
	case ACTION_APISERVER:
		apiserver_fail();
		break;
	case ACTION_MANAGER:
		managers_change();
		break;
	case ACTION_CRASH:
	case ACTION_POWER:
		crash_soon(action == ACTION_POWER);
		break;
	case ACTION_NOTHING:
	case N_ACTIONS:
		break;
	}
}

/* ---- pending effects ---- */

static void pending_due(Later later)
{
	actions.later_us[later] = G_MAXINT64;
	fault_note();
	switch (later) {
	case LATER_KUBELET:
		if (!kubelet_is_up())
			kubelet_start();
		break;
	case LATER_HANG:
		kubelet_set_hung(FALSE);
		judge_podresources_hangs(FALSE);
		break;
	case LATER_DISK:
		disk_set_fault(DISK_WELL);
		break;
	case LATER_NETLINK:
		network_set_refusing(FALSE);
		break;
	case LATER_IPAM:
		children_set_failing(FALSE);
		break;
	case LATER_METADATA:
		metadata_set_failing(FALSE);
		break;
	case LATER_APISERVER:
		apiserver_set_failing(FALSE);
		break;
	case LATER_MANAGER:
		managers_set_down();
		break;
	case N_LATER:
		break;
	}
}

gint64 actions_due_us(void)
{
	gint64 due_us = G_MAXINT64;

	for (guint i = 0; i < N_LATER; i++)
		due_us = MIN(due_us, actions.later_us[i]);
	return MIN(due_us, forced_due_us());
}

void actions_work(void)
{
	for (guint i = 0; i < N_LATER; i++)
		if (actions.later_us[i] <= clock_now_us())
			pending_due((Later)i);
	if (forced_due_us() <= clock_now_us())
		forced_work(clock_now_us());
}

/* After that, nothing but the kernel's messages tells rdmad of a change. */
#define MANAGER_US (100 * SIM_S)

/* A listed pod that has ended may be that of an allocation which a kubelet without its checkpoint
 * never named. */
static void ended_delete(void)
{
	for (guint i = pods_all()->len; i-- > 0;) {
		Pod *pod = pods_all()->pdata[i];

		if (pod->state == POD_ENDED)
			pods_delete(pod);
	}
}

void actions_end_faults(void)
{
	actions.power_fails = FALSE;
	life_crash_never();
	for (guint i = 0; i < N_LATER; i++)
		pending_due((Later)i);
	for (guint i = 0; i < MACHINE_DEVICES; i++) {
		machine_plug(i, TRUE);
		machine_set_port(i, TRUE);
	}
	forced_work(G_MAXINT64);
	ended_delete();
	runtime_end_deviations();
	children_end_deviations();
	node_configure(NODE_CONFIG_SAME);
	life_reload();
	kubelet_sync_pods();
	actions.later_us[LATER_MANAGER] = clock_now_us() + MANAGER_US;
}

/* ---- life cycle ---- */

static void kubelet_listed(const char *resource)
{
	decisions_note(actions.decisions, "list %s %" G_GINT64_FORMAT, resource, clock_now_us());
}

/* Removes the sandbox of a rejected pod too: it may have one from before kubelet lost its
 * checkpoint. */
static void answered(const Pod *pod, const Grant *grant, const char *error, gint64 took_us)
{
	judge_answered(pod, grant, error, took_us);
	if (error)
		runtime_pod_ended(pod);
}

/* The process may wait for its next life. */
static void services_ended(void)
{
	judge_disturbed();
	judge_scrapes_restarted();
	client_disturb();
	admission_given_up();
}

/* The next life has the settings of the last reload, not those of the file. */
static void relay_passed(void)
{
	node_configure(NODE_CONFIG_SAME);
	life_reload();
}

static void relay_failed(void)
{
	actions.fault_us = clock_now_us();
	judge_hand_over_failed();
}

static gboolean makes_network(const Pod *pod)
{
	return !node_has(NODE_CNI) || !node_resource(pod->resource)->has_network ||
	       runtime_makes_network(pod);
}

static const KubeletOps kubelet_ops = { answered, judge_unanswered, judge_pre_started,
					makes_network, kubelet_listed };
static const RelayOps relay_ops = { judge_disturbed, judge_given, relay_passed, relay_failed };
static const RuntimeOps runtime_ops = { judge_attached,	      judge_attach_refused,
					judge_leases_deleted, judge_leases_collected,
					judge_checked,	      judge_unready,
					kubelet_sync_pods };

void actions_begin(const char *root, Decisions *decisions)
{
	const guint era = decide(decisions, DECIDE_SETUP, 32);
	g_autofree char *dir = g_build_filename(root, "kubelet", NULL);

	actions.decisions = decisions;
	actions.era = (KubeletEra){ .has_registry = !(era & 1),
				    .dials_inside = !(era & 2),
				    .lists_completed = era & 4,
				    .pre_lists = era & 8,
				    .readmits = era & 16 };
	actions.power_fails = FALSE;
	actions.down = 0;
	actions.fault_us = clock_now_us();
	memset(actions.last_us, 0, sizeof(actions.last_us));
	for (guint i = 0; i < N_LATER; i++)
		actions.later_us[i] = G_MAXINT64;
	pods_begin(decisions);
	forced_begin();
	kubelet_begin(dir, &actions.era, &kubelet_ops, decisions);
	executor_begin(kubelet_loop(), decisions);
	children_begin(kubelet_loop(), decisions);
	runtime_begin(kubelet_loop(), &runtime_ops, decisions);
	relay_begin(kubelet_loop(), &relay_ops, decisions);
	life_watch_end(services_ended);
	client_begin(kubelet_loop(), judge_replied, decisions);
	kubelet_start();
}

void actions_end(void)
{
	client_end();
	relay_end();
	runtime_end();
	executor_end();
	children_end();
	kubelet_end();
	for (guint i = pods_all()->len; i-- > 0;) {
		Pod *pod = pods_all()->pdata[i];

		if (pod->has_process)
			pod_exit(pod);
	}
	pods_end();
}

/* ---- the table ---- */

void actions_print_pairs(void)
{
	printf("%-10s", "");
	for (guint fault = ACTION_KUBELET; fault < N_ACTIONS; fault++)
		printf("%9s", names[fault]);
	putchar('\n');
	for (guint action = ACTION_POD; action < N_ACTIONS; action++) {
		printf("%-10s", names[action]);
		for (guint fault = ACTION_KUBELET; fault < N_ACTIONS; fault++)
			printf("%9" G_GUINT64_FORMAT, actions.pairs[action][fault]);
		putchar('\n');
	}
}
