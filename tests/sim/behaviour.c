/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file has a list of steps with the states that must follow.  This one has two halves: steps
 * (what is done), and what is observed of kubelet: its calls by rdmad's log, and podresources.
 */
#include "behaviour.h"

#include <rdmad/grpc.h>
#include <stdio.h>
#include <string.h>

#include "actions.h"
#include "clock.h"
#include "judge.h"
#include "kubelet.h"
#include "life.h"
#include "machine.h"
#include "node.h"
#include "observer.h"
#include "runtime.h"
#include "world.h"

#define RESOURCE    "rdma/whole"
#define PATIENCE_US (900 * SIM_S)
/* No CNI, a kubelet of today, and nothing goes wrong. */
#define SETUP "setup setup@1=16\n"

typedef struct {
	guint line;
	char *text;
	GPtrArray *calls;  /* of char **: each comes after those before it */
	GPtrArray *states; /* of char * */
} Step;

/* A pod of the trace, which the model gives another name. */
typedef struct {
	char *uid, *name;
} Named;

static struct {
	GPtrArray *steps; /* of Step */
	guint next;
	const Step *step; /* performed, and not yet followed by its states; or NULL */
	gint64 until_us;
	gboolean has_rdmad, kubelet_waits;
	GHashTable *pods; /* name in the trace -> Named */
} behaviour;

static void named_free(gpointer data)
{
	Named *named = data;

	g_free(named->uid);
	g_free(named->name);
	g_free(named);
}

static void step_free(gpointer data)
{
	Step *step = data;

	g_ptr_array_unref(step->calls);
	g_ptr_array_unref(step->states);
	g_free(step->text);
	g_free(step);
}

/* ---- the file ---- */

static void state_parse(Step *step, const char *text)
{
	if (g_str_has_prefix(text, "calls "))
		g_ptr_array_add(step->calls, g_strsplit(text + strlen("calls "), " ", -1));
	else
		g_ptr_array_add(step->states, g_strdup(text));
}

static Step *step_new(guint line, const char *text)
{
	Step *step = g_new(Step, 1);

	*step = (Step){ line, g_strdup(text),
			g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev),
			g_ptr_array_new_with_free_func(g_free) };
	return step;
}

static gboolean file_parse(const char *path)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) lines = NULL;
	Step *step = NULL;

	if (!g_file_get_contents(path, &text, NULL, &error)) {
		fprintf(stderr, "%s\n", error->message);
		return FALSE;
	}
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		if (*lines[i] == '\t' && step)
			state_parse(step, lines[i] + 1);
		else if (*lines[i] && *lines[i] != '#')
			g_ptr_array_add(behaviour.steps, step = step_new(i + 1, lines[i]));
	}
	return TRUE;
}

/* ---- steps ---- */

static Pod *pod_find(const char *name)
{
	const Named *named = g_hash_table_lookup(behaviour.pods, name);

	return named ? pods_find(named->uid) : NULL;
}

static void pod_create(const char *name, guint wanted, guint init_wanted)
{
	Pod *pod = pods_create(RESOURCE, wanted, init_wanted);
	Named *named = g_new(Named, 1);

	pod->is_bound = TRUE;
	*named = (Named){ g_strdup(pod->uid), g_strdup(pod->name) };
	g_hash_table_replace(behaviour.pods, g_strdup(name), named);
	kubelet_sync_pods();
}

static void pod_delete(Pod *pod)
{
	pod_exit(pod);
	runtime_pod_ended(pod);
	pods_delete(pod);
	kubelet_sync_pods();
}

static void kubelet_restart(gboolean forgets)
{
	judge_restarted(forgets);
	kubelet_stop(forgets);
	behaviour.kubelet_waits = TRUE;
}

static void rdmad_start(gboolean is_legacy, gboolean has_pre_start)
{
	node_set_legacy(is_legacy);
	node_set_pre_start(has_pre_start);
	behaviour.has_rdmad = TRUE;
}

static void rdmad_end(gboolean is_killed)
{
	behaviour.has_rdmad = FALSE;
	if (is_killed)
		life_crash();
	else
		life_stop();
}

static gboolean perform_on_pod(const char *text)
{
	char name[16];
	guint wanted, init = 0;

	if (sscanf(text, "pod %15s wants %u after %u", name, &wanted, &init) >= 2)
		pod_create(name, wanted, init);
	else if (sscanf(text, "pod %15s is deleted", name) == 1 && pod_find(name))
		pod_delete(pod_find(name));
	else if (sscanf(text, "container of %15s exits", name) == 1 && pod_find(name))
		pod_restart(pod_find(name));
	else
		return FALSE;
	kubelet_sync_pods();
	return TRUE;
}

static gboolean perform_on_device(const char *text)
{
	char what[24];
	guint device;

	if (sscanf(text, "device %u %23[a-z ]", &device, what) != 2 || device >= MACHINE_DEVICES)
		return FALSE;
	if (g_str_equal(what, "goes down") || g_str_equal(what, "comes up"))
		machine_set_port(device, g_str_equal(what, "comes up"));
	else
		machine_plug(device, g_str_equal(what, "is plugged in"));
	life_hint_hardware();
	return TRUE;
}

static gboolean perform(const char *text)
{
	if (g_str_equal(text, "kubelet starts"))
		kubelet_start();
	else if (g_str_equal(text, "kubelet restarts"))
		kubelet_restart(FALSE);
	else if (g_str_equal(text, "kubelet restarts without its checkpoint"))
		kubelet_restart(TRUE);
	else if (g_str_equal(text, "rdmad starts"))
		rdmad_start(FALSE, TRUE);
	else if (g_str_equal(text, "rdmad starts by Register"))
		rdmad_start(TRUE, TRUE);
	else if (g_str_equal(text, "rdmad starts without prestart"))
		rdmad_start(FALSE, FALSE);
	else if (g_str_equal(text, "rdmad stops") || g_str_equal(text, "rdmad is killed"))
		rdmad_end(g_str_equal(text, "rdmad is killed"));
	else if (g_str_equal(text, "sockets are removed"))
		kubelet_wipe_sockets();
	else
		return perform_on_pod(text) || perform_on_device(text);
	return TRUE;
}

/* ---- what is then so ---- */

typedef struct {
	const char *pod;
	int n;
	gboolean nameless;
} Count;

static void allocation_count(const RdmadAllocation *allocation, gpointer data)
{
	Count *count = data;

	count->n += g_strcmp0(allocation->pod_name, count->pod) == 0;
	count->nameless |= !allocation->pod_name;
}

static int allocations_of(const Named *named)
{
	Count count = { .pod = named ? named->name : "" };

	if (!life_allocations())
		return -1;
	rdmad_allocations_foreach(life_allocations(), allocation_count, &count);
	return count.nameless ? -1 : count.n;
}

static gboolean holds(const char *state)
{
	const Named *named;
	char name[16], what[24];
	int count;

	if (sscanf(state, "allocatable %d", &count) == 1)
		return observer_allocatable() == count;
	if (sscanf(state, "rdmad names %15s %d", name, &count) == 2)
		return allocations_of(g_hash_table_lookup(behaviour.pods, name)) == count;
	if (sscanf(state, "%15s %23[a-z ]%d", name, what, &count) < 2)
		return FALSE;
	named = g_hash_table_lookup(behaviour.pods, name);
	if (!named)
		return FALSE;
	if (g_str_equal(what, "runs"))
		return pod_find(name) && pod_find(name)->state == POD_RUNNING;
	if (g_str_equal(what, "lists "))
		return observer_listed(named->name) == count;
	if (g_str_equal(what, "has ended"))
		return !pod_find(name);
	return observer_listed(named->name) < 0 &&
	       (g_str_equal(what, "is unlisted") ||
		(g_str_equal(what, "is refused") && !pod_find(name)));
}

/* Returns the first state that does not hold, or NULL. */
static const char *state_missing(const Step *step)
{
	guint n = 0;

	for (guint i = 0; i < step->calls->len; i++)
		n += g_strv_length(step->calls->pdata[i]);
	if (observer_calls()->len < n)
		return "calls";
	for (guint i = 0; i < step->states->len; i++)
		if (!holds(step->states->pdata[i]))
			return step->states->pdata[i];
	return NULL;
}

/* Returns whether the calls from `first` are these, in any order. */
static gboolean calls_are(const GPtrArray *calls, guint first, char **expected)
{
	const guint n = g_strv_length(expected);
	g_autofree gboolean *found = g_new0(gboolean, n);

	for (guint i = first; i < first + n; i++) {
		guint k = 0;

		while (i < calls->len && k < n &&
		       (found[k] || !g_str_equal(calls->pdata[i], expected[k])))
			k++;
		if (i >= calls->len || k == n)
			return FALSE;
		found[k] = TRUE;
	}
	return TRUE;
}

static gboolean calls_check(const Step *step)
{
	const GPtrArray *calls = observer_calls();
	guint first = 0;

	for (guint i = 0; i < step->calls->len; i++) {
		if (!calls_are(calls, first, step->calls->pdata[i]))
			return FALSE;
		first += g_strv_length(step->calls->pdata[i]);
	}
	return calls->len == first;
}

static void fail(const Step *step, const char *what)
{
	g_autoptr(GString) calls = g_string_new(NULL);

	for (guint i = 0; i < observer_calls()->len; i++)
		g_string_append_printf(calls, " %s", (char *)observer_calls()->pdata[i]);
	judge_fails("line %u, \"%s\": %s is not so; rdmad got:%s", step->line, step->text, what,
		    calls->len ? calls->str : " nothing");
	observer_close();
}

/* ---- the script ---- */

static void step_finish(const Step *step)
{
	const char *missing = state_missing(step);

	if (!missing) {
		if (!calls_check(step))
			fail(step, "calls");
		observer_forget_calls();
		behaviour.step = NULL;
	} else if (clock_now_us() > behaviour.until_us) {
		fail(step, missing);
	}
}

static void step_begin(const Step *step)
{
	behaviour.step = step;
	behaviour.until_us = clock_now_us() + PATIENCE_US;
	if (observer_calls()->len)
		fail(step, "that no call came after the step before");
	else if (!perform(step->text))
		fail(step, "that this is a step");
	observer_ask();
}

static gboolean script_step(void)
{
	if (behaviour.kubelet_waits) {
		behaviour.kubelet_waits = FALSE;
		kubelet_start();
	} else if (!behaviour.step && behaviour.next == behaviour.steps->len) {
		observer_close();
		return FALSE;
	} else if (!behaviour.step) {
		/* The world begins with a kubelet. */
		if (!behaviour.next)
			kubelet_stop(FALSE);
		step_begin(behaviour.steps->pdata[behaviour.next++]);
	} else if (observer_has_answers()) {
		step_finish(behaviour.step);
		observer_ask();
	}
	return TRUE;
}

static gboolean script_has_rdmad(void)
{
	return behaviour.has_rdmad;
}

int behaviour_run(const char *path)
{
	static const WorldScript script = { script_step, script_has_rdmad };
	g_autoptr(Decisions) decisions = decisions_of_trace(SETUP, action_of, NULL);
	gboolean ok;

	behaviour.steps = g_ptr_array_new_with_free_func(step_free);
	behaviour.pods = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, named_free);
	node_set_verbose();
	observer_begin(RESOURCE);
	ok = file_parse(path) && world_perform(&script, decisions);
	printf("%s: %u steps, %s\n", path, behaviour.next, ok ? "all holds" : "BROKEN");
	if (judge_verdict()) {
		printf("# %s\n", judge_verdict());
		life_log_print();
	}
	observer_end();
	g_hash_table_unref(behaviour.pods);
	g_ptr_array_unref(behaviour.steps);
	return ok ? 0 : 1;
}
