/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actions.h"
#include "judge.h"
#include "world.h"

#define RULE_MAX 4096u

static void child_run(Decisions *decisions, char *rule)
{
	freopen("/dev/null", "w", stderr);
	if (!world_run(decisions))
		g_strlcpy(rule, judge_rule(), RULE_MAX);
	_exit(0);
}

char *shrink_try(Decisions *decisions)
{
	char *rule =
		mmap(NULL, RULE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *found;
	pid_t pid;
	int status;

	g_assert(rule != MAP_FAILED);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child_run(decisions, rule);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	if (WIFSIGNALED(status))
		g_snprintf(rule, RULE_MAX, "signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		g_snprintf(rule, RULE_MAX, "exit %d", WEXITSTATUS(status));
	found = *rule ? g_strdup(rule) : NULL;
	munmap(rule, RULE_MAX);
	return found;
}

/* Replaces `best` by the candidate if that breaks the same rule.  The candidate was not run before,
 * like a trace from a file. */
static gboolean take_if_fails(Decisions **best, Decisions *candidate, const char *rule)
{
	g_autofree char *found = NULL;

	if (!candidate)
		return FALSE;
	found = shrink_try(candidate);
	if (g_strcmp0(found, rule)) {
		decisions_free(candidate);
		return FALSE;
	}
	decisions_adopt(candidate);
	decisions_free(*best);
	*best = candidate;
	return TRUE;
}

/* Removes halves first. */
static gboolean steps_remove(Decisions **best, const char *rule)
{
	gboolean any = FALSE;

	for (guint n = MAX(decisions_steps(*best) / 2, 1); n > 0; n /= 2)
		for (guint first = 1; first + n <= decisions_steps(*best);)
			if (take_if_fails(best, decisions_without_steps(*best, first, n), rule))
				any = TRUE;
			else
				first += n;
	return any;
}

static gboolean values_lower(Decisions **best, const char *rule)
{
	gboolean any = FALSE;

	for (guint i = decisions_entries(*best); i-- > 0;) {
		const guint value = i < decisions_entries(*best) ? decisions_value(*best, i) : 0;

		if (!value)
			continue;
		if (take_if_fails(best, decisions_with_value(*best, i, 0), rule))
			any = TRUE;
		else if (value > 1)
			any |= take_if_fails(best, decisions_with_value(*best, i, value / 2), rule);
	}
	return any;
}

Decisions *shrink(Decisions *failing, const char *rule)
{
	gboolean smaller = TRUE;

	while (smaller) {
		smaller = steps_remove(&failing, rule);
		smaller |= values_lower(&failing, rule);
		fprintf(stderr, "  %u steps, %u values\n", decisions_steps(failing) - 1,
			decisions_entries(failing));
	}
	return failing;
}
