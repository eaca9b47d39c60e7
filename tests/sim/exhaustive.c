/* SPDX-License-Identifier: Apache-2.0 */
#include "exhaustive.h"

#include <stdio.h>

#include "actions.h"
#include "disk.h"
#include "judge.h"
#include "life.h"
#include "world.h"

#define EFFECTS 59u

#define CNI	  " setup@0=1"
#define PRE_START " setup@2=1"
#define IPAM	  CNI " setup@3=2"
#define ERDMA	  " setup@4=1 setup@5=7" /* all NICs are bare */
#define NCCL	  " setup@6=1"
/* The first run of the plugin leaves a process that works nine seconds later. */
#define OUTLIVED " ipam@2=2 ipam@3=2\n"

/* The state before, and the operation at whose effects rdmad ends. */
static const struct {
	const char *name, *before, *during;
	const char *setup; /* NULL: without CNI */
} scenarios[] = {
	{ "allocate", "", "pod\n" },
	{ "allocate-cdi", "", "pod which@0=2\n" },
	{ "allocate-next", "pod pause@0=3\n", "pod\n" },
	{ "end", "pod pause@0=4\n", "exit\n" },
	{ "end-and-allocate", "pod pause@0=4\n", "exit\npod\n" },
	{ "allocate-init", "", "pod init@0=1\n" },
	{ "start-container", "pod pause@0=4\n", "restart\n", PRE_START },
	{ "start", "pod pause@0=4\n", "stop\n" },
	{ "reload", "pod pause@0=4\n", "reload how@0=1\n" },
	{ "rename", "pod how@0=1 pause@0=4\n", "rename how@0=1\npod which@0=2\n" },
	{ "hand-over", "pod pause@0=4\n", "handover\npod\n" },
	{ "hand-over-to-a-third", "pod pause@0=4\n", "handover relay@3=2\npod\n" },
	{ "kubelet", "pod pause@0=4\n", "kubelet\n" },
	{ "forgotten", "pod pause@0=4\n", "kubelet how@0=3\npod\n" },
	{ "link", "pod pause@0=4\n", "port\n" },
	{ "add", "", "pod\n", CNI },
	{ "add-shared", "", "pod which@0=1\n", CNI },
	{ "del", "pod pause@0=4\n", "exit\n", CNI },
	{ "del-and-add", "pod how@0=1 pause@0=4\n", "exit\npod\n", CNI },
	{ "collect", "pod pause@0=4\n", "gc\nreload\n", CNI },
	{ "add-leased", "", "pod which@0=1\n", IPAM },
	{ "add-outlived", "", "pod which@0=1 pause@0=2" OUTLIVED "exit pause@0=4\n", IPAM },
	{ "del-leased", "pod how@0=1 pause@0=4\n", "exit\n", IPAM },
	{ "configure", "", "nothing\n", ERDMA },
	{ "readdress", "nothing pause@0=4\n", "reload how@0=1\n", ERDMA },
	{ "repair", "nothing pause@0=4\n", "manager cloud@0=0\n", ERDMA },
	{ "lower", "nothing pause@0=4\n", "manager which@0=1 cloud@0=3\n", ERDMA },
	{ "del-elastic", "pod how@0=1 pause@0=4\n", "exit\n", CNI ERDMA },
	{ "plan", "", "pod\n", PRE_START NCCL },
	{ "plan-init", "", "pod init@0=1\n", NCCL },
	{ "plan-again", "pod pause@0=4\n", "reload how@0=1\n", NCCL },
	{ "plan-moved", "", "pod pause@0=4\n", CNI NCCL },
};

/* `outcome` N_DISK_OUTCOMES: only rdmad ends, not the machine. */
static char *trace_of(guint scenario, guint effect, guint outcome)
{
	const char *what = outcome == N_DISK_OUTCOMES ? "crash" : "power";
	g_autofree char *how = outcome == N_DISK_OUTCOMES
				       ? g_strdup("")
				       : g_strdup_printf(" how@0=%u kept@0=2 kept@1=1", outcome);

	return g_strdup_printf("setup%s\n%s%s effects@0=%u%s\n%snothing pause@0=4\n",
			       scenarios[scenario].setup ?: "", scenarios[scenario].before, what,
			       effect, how, scenarios[scenario].during);
}

static gboolean run_one(guint scenario, guint effect, guint outcome)
{
	g_autofree char *trace = trace_of(scenario, effect, outcome);
	g_autoptr(Decisions) decisions = decisions_of_trace(trace, action_of, NULL);
	const gboolean ok = world_run(decisions);

	if (!ok)
		printf("# %s: %s\n%s", scenarios[scenario].name, judge_verdict(), trace);
	return ok;
}

/* Returns TRUE if the scenario has that many effects. */
static gboolean run_outcomes(guint scenario, guint effect, guint *broken)
{
	const guint missed = life_crashes_missed();

	for (guint outcome = N_DISK_OUTCOMES + 1; outcome-- > 0;) {
		*broken += !run_one(scenario, effect, outcome);
		if (life_crashes_missed() != missed)
			return FALSE;
	}
	return TRUE;
}

guint exhaustive_run(guint job, guint jobs)
{
	guint broken = 0, effects = 0;

	for (guint scenario = 0; scenario < G_N_ELEMENTS(scenarios); scenario++)
		for (guint effect = 1 + job; effect <= EFFECTS; effect += jobs, effects++)
			if (!run_outcomes(scenario, effect, &broken))
				break;
	printf("%u effects of %u scenarios, %u broken\n", effects, (guint)G_N_ELEMENTS(scenarios),
	       broken);
	return broken;
}
