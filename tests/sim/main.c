/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: rdmad in a world that a seed generates
 *
 *	sim [--seed N] [--seconds N] [--steps N] [--run-steps N] [--pairs] [--notes] [--all]
 *	    [--hash]
 *	sim --replay FILE [--shrink]
 *	sim --seed N --shrink
 *	sim --exhaustive
 *	sim --behaviour FILE
 *	--jobs N: as many processes, each with its own world
 *	sim --plants --seconds N	each planted fault, for at most N s; --plant NAME: only one
 *
 * A seed alone selects one run.  With seconds or steps, runs start at the seed and end with the
 * first one that fails; --all continues.  A run has as many steps as its seed chooses, or as
 * --run-steps says.  A failed run prints its seed, the broken rule, the last lines of the log, and
 * its trace; the exit status is then 1.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actions.h"
#include "behaviour.h"
#include "clock.h"
#include "exhaustive.h"
#include "judge.h"
#include "life.h"
#include "memory.h"
#include "plants.h"
#include "shrink.h"
#include "world.h"

#define PLANT_RUN_STEPS 100u /* most are found by short runs, which are more varied */

typedef struct {
	gint64 seed, seconds, steps, run_steps, jobs;
	guint job; /* number of this process */
	gboolean shrink, pairs, twice, plants, exhaustive, hash, notes, all;
	char *replay, *plant, *behaviour;
} Options;

static guint64 seed_of_now; /* visible in the core dump of a crashed process */

static void crashed(int signum)
{
	char text[64];
	const int n = g_snprintf(text, sizeof(text), "signal %d with seed %" G_GUINT64_FORMAT "\n",
				 signum, seed_of_now);

	if (write(STDERR_FILENO, text, (gsize)n) < 0)
		_exit(3);
	signal(signum, SIG_DFL);
	raise(signum);
}

static void print_failure(const Decisions *decisions)
{
	g_autofree char *trace = decisions_print(decisions, action_name);

	printf("# %s\n%s", judge_verdict(), trace);
	fflush(stdout);
	life_log_print();
}

static int shrink_and_print(Decisions *decisions, const Options *options)
{
	g_autofree char *rule = NULL;
	g_autofree char *trace = NULL;
	g_autoptr(Decisions) small = NULL;

	rule = shrink_try(decisions);
	if (!rule) {
		decisions_free(decisions);
		printf("nothing is broken\n");
		return 0;
	}
	decisions_adopt(decisions);
	small = shrink(decisions, rule);
	trace = decisions_print(small, action_name);
	printf("# %s\n%s", rule, trace);
	return 1;
}

static int run_replay(const Options *options)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	Decisions *decisions = NULL;
	gboolean ok;

	if (g_file_get_contents(options->replay, &text, NULL, &error))
		decisions = decisions_of_trace(text, action_of, &error);
	if (!decisions) {
		fprintf(stderr, "%s: %s\n", options->replay, error->message);
		return 2;
	}
	if (options->shrink)
		return shrink_and_print(decisions, options);
	ok = world_run(decisions);
	printf("%s: %s, hash %016" G_GINT64_MODIFIER "x\n", options->replay,
	       ok ? "all holds" : "BROKEN", decisions_hash(decisions));
	if (!ok)
		print_failure(decisions);
	decisions_free(decisions);
	return ok ? 0 : 1;
}

/* Records the choices of the seed as a trace, which shrink() runs in parts. */
static int shrink_seed(const Options *options)
{
	g_autoptr(Decisions) decisions =
		decisions_of_seed((guint64)options->seed, (guint)options->run_steps);
	g_autofree char *trace = NULL;

	world_run(decisions);
	trace = decisions_print(decisions, action_name);
	return shrink_and_print(decisions_of_trace(trace, action_of, NULL), options);
}

static guint64 seed_run(guint64 seed, const Options *options, gboolean *ok)
{
	g_autoptr(Decisions) decisions = decisions_of_seed(seed, (guint)options->run_steps);

	seed_of_now = seed;
	*ok = world_run(decisions);
	if (options->hash)
		printf("hash %016" G_GINT64_MODIFIER "x\n", decisions_hash(decisions));
	if (!*ok) {
		printf("# seed %" G_GUINT64_FORMAT "\n", seed);
		print_failure(decisions);
	}
	return decisions_hash(decisions);
}

/*
 * Repeats every hundredth run.  Another hash means that something depends on no decision.  Another
 * number of blocks means that the run leaks: what the first run keeps for all later ones is there
 * already.
 */
static gboolean seed_repeat(guint64 seed, guint64 hash, const Options *options)
{
	const gsize blocks = memory_blocks ? memory_blocks() : 0;
	gboolean ok;

	if (seed_run(seed, options, &ok) != hash || !ok)
		printf("# seed %" G_GUINT64_FORMAT " is not deterministic\n", seed);
	else if (memory_blocks && memory_blocks() != blocks)
		printf("# seed %" G_GUINT64_FORMAT " leaks: %+" G_GSSIZE_FORMAT " blocks\n", seed,
		       (gssize)(memory_blocks() - blocks));
	else
		return TRUE;
	return FALSE;
}

static gboolean seed_check(guint64 seed, const Options *options)
{
	gboolean ok;
	const guint64 hash = seed_run(seed, options, &ok);

	if (!ok || (seed % 100 != 0 && !options->twice))
		return ok;
	return seed_repeat(seed, hash, options);
}

static void print_totals(const Options *options, gint64 began_us)
{
	const WorldTotals *totals = world_totals();
	const double seconds = (double)(clock_real_us() - began_us) / SIM_S;
	const double cpu = (double)clock_cpu_us() / SIM_S;

	printf("%" G_GUINT64_FORMAT " runs, %" G_GUINT64_FORMAT " steps, %" G_GUINT64_FORMAT
	       " lives, %" G_GUINT64_FORMAT " effects in %.1f s; %.0f steps a minute of CPU time\n",
	       totals->runs, totals->steps, totals->lives, totals->effects, seconds,
	       (double)totals->steps / cpu * 60);
	if (options->pairs)
		actions_print_pairs();
}

static int run_seeds(const Options *options)
{
	const gint64 began_us = clock_real_us();
	guint64 seed = (guint64)options->seed + options->job;
	gboolean ok = TRUE, more = TRUE;

	while ((ok || options->all) && more) {
		ok &= seed_check(seed, options);
		seed += (guint64)options->jobs;
		more = options->seconds ? clock_real_us() - began_us < options->seconds * SIM_S
		       : options->steps
			       ? world_totals()->steps < (guint64)(options->steps / options->jobs)
			       : FALSE;
	}
	print_totals(options, began_us);
	return ok ? 0 : 1;
}

/* ---- planted faults ---- */

/* Returns TRUE if the fault is found in time. */
static gboolean plant_find(Plant plant, const Options *options)
{
	const gint64 began_us = clock_real_us();
	g_autofree char *rule = NULL;
	const guint steps = options->run_steps ? (guint)options->run_steps : PLANT_RUN_STEPS;
	guint64 seed = (guint64)options->seed;

	plant_set(plant);
	while (!rule && clock_real_us() - began_us < options->seconds * SIM_S) {
		g_autoptr(Decisions) decisions = decisions_of_seed(seed++, steps);

		rule = shrink_try(decisions);
	}
	plant_set(PLANT_NONE);
	printf("%-16s %5.1f s %4" G_GUINT64_FORMAT " runs  %s\n", plant_name(plant),
	       (double)(clock_real_us() - began_us) / SIM_S, seed - (guint64)options->seed,
	       rule ? rule : "NOT FOUND");
	return rule != NULL;
}

static int run_plants(const Options *options)
{
	guint tried = 0, found = 0;

	for (guint plant = PLANT_NONE + 1; plant < N_PLANTS; plant++) {
		if (plant % (guint)options->jobs != options->job)
			continue;
		tried++;
		found += plant_find((Plant)plant, options);
	}
	printf("%u of %u planted faults found\n", found, tried);
	return found == tried ? 0 : 1;
}

/* ---- the command line ---- */

static gboolean options_parse(Options *options, int argc, char **argv)
{
	const struct {
		const char *name;
		gint64 *number;
		gboolean *flag;
	} known[] = {
		{ "--seed", &options->seed, NULL },
		{ "--seconds", &options->seconds, NULL },
		{ "--steps", &options->steps, NULL },
		{ "--run-steps", &options->run_steps, NULL },
		{ "--jobs", &options->jobs, NULL },
		{ "--shrink", NULL, &options->shrink },
		{ "--pairs", NULL, &options->pairs },
		{ "--twice", NULL, &options->twice },
		{ "--plants", NULL, &options->plants },
		{ "--exhaustive", NULL, &options->exhaustive },
		{ "--hash", NULL, &options->hash },
		{ "--notes", NULL, &options->notes },
		{ "--all", NULL, &options->all },
		{ "--plant", NULL, NULL },
		{ "--replay", NULL, NULL },
		{ "--behaviour", NULL, NULL },
	};

	for (int i = 1; i < argc; i++) {
		guint k = 0;

		while (k < G_N_ELEMENTS(known) && strcmp(argv[i], known[k].name) != 0)
			k++;
		if (k == G_N_ELEMENTS(known) || (!known[k].flag && i + 1 == argc))
			return FALSE;
		if (known[k].flag)
			*known[k].flag = TRUE;
		else if (known[k].number)
			*known[k].number = g_ascii_strtoll(argv[++i], NULL, 10);
		else if (g_str_equal(known[k].name, "--plant"))
			options->plant = argv[++i];
		else if (g_str_equal(known[k].name, "--behaviour"))
			options->behaviour = argv[++i];
		else
			options->replay = argv[++i];
	}
	return TRUE;
}

static int job_run(const Options *options)
{
	world_make();
	return options->behaviour    ? behaviour_run(options->behaviour)
	       : options->replay     ? run_replay(options)
	       : options->exhaustive ? exhaustive_run(options->job, (guint)options->jobs) > 0
	       : options->plants     ? run_plants(options)
	       : options->shrink     ? shrink_seed(options)
				     : run_seeds(options);
}

/* Each process takes a share of the seeds, of the scenarios or of the planted faults. */
static int jobs_run(Options *options)
{
	int status = 0;

	for (options->job = 0; options->job < options->jobs; options->job++)
		if (fork() == 0)
			exit(job_run(options));
	for (gint64 left = options->jobs; left > 0; left--) {
		int one;

		wait(&one);
		status |= WIFEXITED(one) ? WEXITSTATUS(one) : 3;
	}
	return status;
}

/*
 * GLib 2.74 takes small blocks from slabs, of which it keeps some.  As blocks of malloc() they cost
 * less, and are seen by memory_blocks() and by sanitizers.  GLib reads the variable in a later
 * constructor.
 */
__attribute__((constructor(101))) static void slices_are_blocks(void)
{
	setenv("G_SLICE", "always-malloc", 1);
}

int main(int argc, char **argv)
{
	Options options = { .seed = -1, .jobs = 1 };

	if (!options_parse(&options, argc, argv)) {
		fprintf(stderr, "usage: see tests/sim/main.c\n");
		return 2;
	}
	if (options.seed < 0)
		options.seed = clock_real_us() & 0xffffffff;
	signal(SIGABRT, crashed);
	signal(SIGSEGV, crashed);
	signal(SIGTRAP, crashed); /* of g_error() */
	printf("# seed %" G_GINT64_FORMAT "\n", options.seed);
	fflush(stdout);
	if (options.notes)
		decisions_print_notes();
	if (options.plant)
		plant_set(plant_of(options.plant));
	return options.jobs > 1 ? jobs_run(&options) : job_run(&options);
}
