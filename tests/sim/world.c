/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <glib/gstdio.h>

#include "actions.h"
#include "apiserver.h"
#include "client.h"
#include "clock.h"
#include "descriptors.h"
#include "disk.h"
#include "fetcher.h"
#include "ipam.h"
#include "judge.h"
#include "kubelet.h"
#include "life.h"
#include "machine.h"
#include "managers.h"
#include "metadata.h"
#include "network.h"
#include "node.h"
#include "pods.h"
#include "pool.h"
#include "remains.h"
#include "turns.h"

#define FIRST_US      (3 * SIM_S)
#define QUIET_US      (700 * SIM_S) /* longer than podresources' interval of 300 s without events */
#define QUIET_SCRAPES 3u
#define QUIET_S	      600u /* for these: a slow job takes 20 s */
#define STARTS_US     (1000 * SIM_S)
#define RESTART_US    (2 * SIM_S) /* RestartSec of a unit */
#define SCRIPT_US     (100 * SIM_MS)

static const gint64 pauses_us[] = { 1 * SIM_MS, 10 * SIM_MS, 100 * SIM_MS,
				    1 * SIM_S,	10 * SIM_S,  70 * SIM_S };
static const guint pause_weights[] = { 30, 25, 20, 15, 8, 2 };

typedef enum { PHASE_STEPS, PHASE_QUIET, PHASE_OVER } Phase;

static struct {
	const char *root; /* of the tree in memory */
	Decisions *decisions;
	const WorldScript *script; /* or NULL */
	guint weights[N_ACTIONS];
	Phase phase;
	gint64 step_us, quiet_until_us;
	guint seconds, scraped; /* since then; responses before */
	WorldTotals totals;
} world;

/* ---- steps ---- */

static void calm(void)
{
	world.phase = PHASE_QUIET;
	world.step_us = clock_now_us();
	world.quiet_until_us = world.step_us + QUIET_US;
	world.seconds = 0;
	actions_end_faults();
}

static void script_step(void)
{
	if (world.script->step())
		world.step_us = clock_now_us() + SCRIPT_US;
	else
		calm();
}

static void step(void)
{
	if (world.script) {
		script_step();
		return;
	}
	if (!decisions_step(world.decisions)) {
		calm();
		return;
	}
	world.totals.steps++;
	action_do((Action)decide_weighted(world.decisions, DECIDE_ACTION, world.weights, N_ACTIONS),
		  world.decisions);
	world.step_us =
		clock_now_us() + pauses_us[decide_weighted(world.decisions, DECIDE_PAUSE,
							   pause_weights, G_N_ELEMENTS(pauses_us))];
}

/* Returns whether rdmad runs.  It may have ended by itself, but starts again. */
static gboolean has_life(void)
{
	if (clock_now_us() > world.quiet_until_us + STARTS_US)
		judge_fails("rdmad does not start");
	return life_is_on() && life_allocations();
}

/* Returns whether Prometheus has asked as often as the judge needs. */
static gboolean scrapes_end(void)
{
	if (!node_has(NODE_METRICS))
		return TRUE;
	if (world.seconds++ == 0)
		world.scraped = judge_scrapes_whole();
	if (judge_scrapes_whole() - world.scraped >= QUIET_SCRAPES)
		return TRUE;
	if (world.seconds > QUIET_S)
		judge_fails("Prometheus never gets the metrics of all devices");
	if (client_is_idle())
		client_scrape();
	return FALSE;
}

/* Calls the judge every second, after restarting a life that has just failed. */
static void end(void)
{
	world.step_us = clock_now_us() + SIM_S;
	judge_calm();
	if (clock_now_us() < world.quiet_until_us || !has_life() || !scrapes_end())
		return;
	judge_quiet();
	world.phase = PHASE_OVER;
	world.step_us = G_MAXINT64;
	life_stop();
}

static gint64 due_us(void)
{
	return MIN(MIN(MIN(world.step_us, actions_due_us()), remains_due_us()),
		   MIN(pool_due_us(), network_due_us()));
}

static void work(void)
{
	if (pool_due_us() <= clock_now_us())
		pool_work();
	else if (network_due_us() <= clock_now_us())
		network_work();
	else if (remains_due_us() <= clock_now_us())
		remains_work();
	else if (actions_due_us() <= clock_now_us())
		actions_work();
	else if (world.phase == PHASE_STEPS)
		step();
	else
		end();
	judge_check();
}

static void spins(guint turns)
{
	judge_fails("somebody spins: %u turns at one time", turns);
}

static const TurnsOps turns_ops = { due_us, work, life_is_over, spins };

/* ---- a run ---- */

/* Swarm testing: each run has only some of the actions, some of them often. */
static void weights_draw(void)
{
	static const guint weights[] = { 0, 1, 3, 9 };
	static const guint pods[N_ACTIONS] = {
		[ACTION_NOTHING] = 2, [ACTION_POD] = 12, [ACTION_EXIT] = 6, [ACTION_DELETE] = 5
	};

	for (guint i = 0; i < N_ACTIONS; i++)
		world.weights[i] =
			pods[i] +
			weights[decide(world.decisions, DECIDE_WEIGHT, G_N_ELEMENTS(weights))];
}

/* In one of three runs module erdma manages the NICs. */
static void elastic_begin(Decisions *decisions)
{
	const gboolean has_erdma = decide(decisions, DECIDE_SETUP, 3) == 1;

	metadata_begin(decisions);
	managers_begin(decisions);
	if (!has_erdma)
		return;
	network_set_elastic(decide(decisions, DECIDE_SETUP, 1u << NETWORK_PRIMARY));
	managers_reboot();
	node_add(NODE_ERDMA);
}

static void modules_draw(Decisions *decisions)
{
	static const NodeModules metrics[] = { 0, NODE_METRICS, NODE_METRICS | NODE_METRICS_GO };

	node_add(metrics[decide(decisions, DECIDE_SETUP, G_N_ELEMENTS(metrics))]);
	node_add(decide(decisions, DECIDE_SETUP, 2) ? NODE_NCCL : 0);
	node_add(decide(decisions, DECIDE_SETUP, 2) ? NODE_KUBE : 0);
}

static void world_begin(Decisions *decisions)
{
	g_autofree char *disk = g_build_filename(world.root, "disk", NULL);

	world.decisions = decisions;
	world.phase = PHASE_STEPS;
	decisions_step(decisions);
	clock_begin();
	g_random_set_seed(1);
	node_begin(world.root);
	if (decide(decisions, DECIDE_SETUP, 3))
		node_add(NODE_CNI);
	machine_begin();
	network_begin(world.root, decisions);
	pool_begin(decisions);
	turns_begin(&turns_ops, decisions);
	disk_begin(disk, node_run_dir(), decisions);
	judge_begin(decisions);
	fetcher_begin(decisions);
	apiserver_begin(decisions);
	weights_draw();
	actions_begin(world.root, decisions);
	node_set_pre_start(decide(decisions, DECIDE_SETUP, 2) > 0);
	ipam_begin(world.root, decisions, (IpamUse)decide(decisions, DECIDE_SETUP, N_IPAM_USES));
	elastic_begin(decisions);
	modules_draw(decisions);
	world.step_us = clock_now_us() + FIRST_US;
}

static void world_end(void)
{
	actions_end();
	managers_end();
	apiserver_end();
	ipam_end();
	network_end();
	judge_end();
	disk_end();
	world.totals.runs++;
	world.totals.effects = life_effects();
}

static guint descriptors(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	guint n = descriptors_used();

	while (dir && g_dir_read_name(dir))
		n++;
	return n;
}

static gboolean rdmad_is_to_run(void)
{
	return !world.script || world.phase != PHASE_STEPS || world.script->has_rdmad();
}

static void live(void)
{
	LifeEnd how;

	while (!rdmad_is_to_run() && !judge_verdict())
		turns_without_rdmad(clock_now_us() + SCRIPT_US);
	if (judge_verdict())
		return;
	how = life_run(node_successor_options());
	world.totals.lives++;
	if (judge_verdict())
		return;
	actions_life_ended(how);
	judge_disk();
	decisions_note(world.decisions, "life %d %" G_GINT64_FORMAT, how, clock_now_us());
	if (world.phase == PHASE_OVER)
		return;
	turns_without_rdmad(clock_now_us() + (how == LIFE_FAILED ? RESTART_US : actions_down_us()));
}

gboolean world_run(Decisions *decisions)
{
	const guint before = descriptors();

	world_begin(decisions);
	while (world.phase != PHASE_OVER && !judge_verdict())
		live();
	world_end();
	if (!judge_verdict() && descriptors() != before)
		judge_fails("descriptors are left open: %d", (int)descriptors() - (int)before);
	return !judge_verdict();
}

gboolean world_perform(const WorldScript *script, Decisions *decisions)
{
	gboolean ok;

	world.script = script;
	ok = world_run(decisions);
	world.script = NULL;
	return ok;
}

void world_make(void)
{
	world.root = TREE_ROOT;
	judge_disk_make();
	machine_make(TREE_ROOT "/machine");
}

const WorldTotals *world_totals(void)
{
	return &world.totals;
}
