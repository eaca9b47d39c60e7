/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad keeps its rules in a world of any decisions (tests/sim). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "actions.h"
#include "judge.h"
#include "world.h"

#define STEPS_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_once(void)
{
	static gsize once;

	if (!g_once_init_enter(&once))
		return;
	world_make();
	g_once_init_leave(&once, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(Decisions) decisions = decisions_of_bytes(data, size, STEPS_MAX);

	make_once();
	if (!world_run(decisions)) {
		g_autofree char *trace = decisions_print(decisions, action_name);

		fprintf(stderr, "# %s\n%s", judge_verdict(), trace);
		abort();
	}
	return 0;
}
