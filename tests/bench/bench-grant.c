/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-grant STATE-DIR SLOTS-FILE
 *
 * Grants an allocation for each slot (one a line), as Allocate does, and nothing around it; prints
 * {"p50_us", "p99_us"} of rdmad_allocations_grant(), and "directory_us", which is what the kernel
 * takes for the directory of an allocation: made with two files, renamed.  Also how a benchmark
 * fills a database.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/loop.h"
#include "samples.h"
#include "service/allocations-private.h"
#include "service/event-log-private.h"
#include "spare-directory.h"

typedef struct {
	RdmadLoop *loop;
	RdmadAllocations *allocations;
	RdmadEvent *turn;
	char **slots;
	GArray *took;
} Bench;

/* "0000:1a:00.0::007" */
static char *device_of(const char *slot)
{
	const char *end = strstr(slot, "::");

	return end ? g_strndup(slot, (gsize)(end - slot)) : g_strdup(slot);
}

static void grant_one(Bench *b, const char *slot)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *device = device_of(slot);
	const char *const slots[] = { slot, NULL };
	const char *const devices[] = { device, NULL };
	const RdmadGrant grant = { "device-plugin", "rdma/hca", slots, devices };
	const gint64 began = samples_now();
	g_autoptr(RdmadAllocationRef) allocation =
		rdmad_allocations_grant(b->allocations, &grant, &error);

	samples_add(b->took, began);
	if (!allocation)
		g_error("%s", error->message);
}

/* One grant a turn of the loop, so that the table can tell its news between them. */
static void on_turn(gpointer data)
{
	Bench *b = data;
	const char *slot = b->slots[b->took->len];

	if (!slot || !*slot) {
		rdmad_loop_stop(b->loop);
		return;
	}
	grant_one(b, slot);
	rdmad_event_arm(b->turn, 0);
}

static void bench_run(Bench *b, RdmadState *state)
{
	g_autoptr(GError) error = NULL;
	RdmadEventLog *event_log = rdmad_event_log_new(b->loop);

	b->allocations = rdmad_allocations_new(b->loop, state, event_log, &error);
	if (!b->allocations)
		g_error("%s", error->message);
	b->turn = rdmad_loop_add_timer(b->loop, NULL, on_turn, b);
	rdmad_event_arm(b->turn, 0);
	rdmad_loop_run(b->loop);
	rdmad_event_free(b->turn);
	rdmad_allocations_free(b->allocations);
	rdmad_event_log_free(event_log);
}

/* ---- the directories ---- */

#define DIRECTORIES 256u

/* Below `parent`: their p50 in microseconds. */
static double bench_directories(const char *parent)
{
	g_autoptr(GArray) took = samples_new();
	SpareDirectories spares;

	spare_directories_init(&spares, parent);
	for (guint i = 0; i < DIRECTORIES; i++) {
		const gint64 began = samples_now();

		spare_directory_make(&spares);
		spare_directory_take(&spares);
		spare_directory_fill(&spares);
		samples_add(took, began);
	}
	spare_directories_remove(&spares);
	return samples_percentile(took, 50);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadState) state = NULL;
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autofree char *text = NULL;
	Bench b = { .loop = loop };

	if (argc != 3) {
		fputs("usage: bench-grant STATE-DIR SLOTS-FILE\n", stderr);
		return 2;
	}
	rdmad_log_setup(RDMAD_LOG_WARNING, RDMAD_LOG_TEXT, NULL);
	state = rdmad_state_open(argv[1], NULL, &error);
	if (!state || !g_file_get_contents(argv[2], &text, NULL, &error)) {
		fprintf(stderr, "bench-grant: %s\n", error->message);
		return 1;
	}
	b.slots = g_strsplit(text, "\n", -1);
	b.took = samples_new();
	bench_run(&b, state);
	if (b.took->len)
		printf("{\"p50_us\": %.1f, \"p99_us\": %.1f, \"directory_us\": %.1f}\n",
		       samples_percentile(b.took, 50), samples_percentile(b.took, 99),
		       bench_directories(argv[1]));
	g_array_unref(b.took);
	g_strfreev(b.slots);
	return 0;
}
