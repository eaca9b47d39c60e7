/* SPDX-License-Identifier: Apache-2.0 */
#include "pods.h"

#include <string.h>

#include "clock.h"
#include "machine.h"
#include "remains.h"

/* number of names, which are reused as by a StatefulSet */
#define NAMES 12u

static struct {
	Decisions *decisions;
	GPtrArray *all;
	guint made;
} pods;

static void pod_free(gpointer data)
{
	Pod *pod = data;

	grant_free(pod->grant);
	grant_free(pod->init);
	grant_free(pod->had);
	g_free(pod->name);
	g_free(pod->uid);
	g_free(pod);
}

void pods_begin(Decisions *decisions)
{
	pods.decisions = decisions;
	remains_begin(decisions);
	pods.all = g_ptr_array_new_with_free_func(pod_free);
	pods.made = 0;
}

void pods_end(void)
{
	g_ptr_array_unref(pods.all);
	remains_end();
}

GPtrArray *pods_all(void)
{
	return pods.all;
}

Pod *pods_find(const char *uid)
{
	for (guint i = 0; i < pods.all->len; i++)
		if (g_str_equal(((const Pod *)pods.all->pdata[i])->uid, uid))
			return pods.all->pdata[i];
	return NULL;
}

/* `forced`: by a pod whose deletion was forced. */
static gboolean name_is_used(const char *name, gboolean forced)
{
	for (guint i = 0; i < pods.all->len; i++) {
		const Pod *pod = pods.all->pdata[i];

		if ((pod->state == POD_FORCED) == forced && g_str_equal(pod->name, name))
			return TRUE;
	}
	return FALSE;
}

/* Returns a name that another pod has or had, or NULL. */
static const char *name_again(void)
{
	for (guint i = 0; i < pods.all->len; i++) {
		const Pod *pod = pods.all->pdata[i];

		if (pod->state == POD_FORCED && decide_rarely(pods.decisions, DECIDE_REMAINS, 2, 2))
			return pod->name;
	}
	return remains_name();
}

static char *name_free(void)
{
	const char *again = name_again();

	if (again && !name_is_used(again, FALSE))
		return g_strdup(again);
	for (guint i = 0;; i++) {
		char *name = g_strdup_printf("train-%u", (pods.made + i) % NAMES);

		if (!name_is_used(name, FALSE) && !name_is_used(name, TRUE))
			return name;
		g_free(name);
	}
}

Pod *pods_create(const char *resource, guint wanted, guint init_wanted)
{
	Pod *pod = g_new0(Pod, 1);

	pod->name = name_free();
	pod->uid = g_strdup_printf("%08x-1d9c-4bfb-9c3c-5d1f0a3c77aa", ++pods.made);
	pod->resource = resource;
	pod->wanted = wanted;
	pod->init_wanted = init_wanted;
	g_ptr_array_add(pods.all, pod);
	return pod;
}

void pods_delete(Pod *pod)
{
	g_assert(!pod->has_process);
	if (!remains_take(pod)) {
		pod_clean(pod);
		machine_pod_forget(pod->uid, pod->name);
	}
	g_ptr_array_remove(pods.all, pod);
}

/* ---- grants ---- */

Grant *grant_new(const char *const *slots, const char *directory)
{
	Grant *grant = g_new(Grant, 1);

	grant->slots = g_strdupv((char **)slots);
	grant->directory = g_strdup(directory);
	grant->id = strrchr(grant->directory, '/') + 1;
	return grant;
}

static Grant *grant_copy(const Grant *grant)
{
	return grant ? grant_new((const char *const *)grant->slots, grant->directory) : NULL;
}

void grant_free(Grant *grant)
{
	if (!grant)
		return;
	g_strfreev(grant->slots);
	g_free(grant->directory);
	g_free(grant);
}

/* ---- containers ---- */

void pod_begin(Pod *pod)
{
	pod->state = POD_STARTING;
	if (!pod->has_cgroup)
		machine_pod_begin(pod->uid, pod->name);
	pod->has_cgroup = TRUE;
}

void pod_make_sandbox(Pod *pod)
{
	if (!pod->has_sandbox)
		machine_pod_populate(pod->uid);
	pod->has_sandbox = TRUE;
}

gboolean pod_has_forgotten_init(const Pod *pod)
{
	return pod->init_until_us && !pod->init;
}

guint pod_grants(const Pod *pod, const Grant *grants[POD_GRANTS_MAX])
{
	const gboolean starts = pod->state == POD_STARTING;
	guint n = 0;

	if (pod->had && !pod_has_forgotten_init(pod))
		grants[n++] = pod->had;
	if (starts && pod->grant)
		grants[n++] = pod->grant;
	/* It runs again when the sandbox is made again. */
	if ((starts || pod->state == POD_RUNNING) && pod->init)
		grants[n++] = pod->init;
	return n;
}

static gboolean has_init_to_come(const Pod *pod)
{
	return pod->init && !pod->is_set_up;
}

Grant *pod_next_grant(const Pod *pod)
{
	return has_init_to_come(pod) ? pod->init : pod->grant;
}

void pod_run(Pod *pod, gint64 init_until_us)
{
	grant_free(pod->had);
	pod->had = grant_copy(pod_next_grant(pod));
	if (has_init_to_come(pod))
		pod->init_until_us = init_until_us;
	else
		pod->state = POD_RUNNING;
	pod->has_process = TRUE;
}

static void process_end(Pod *pod)
{
	pod->has_process = FALSE;
	pod->init_until_us = 0;
	g_clear_pointer(&pod->had, grant_free);
}

void pod_set_up(Pod *pod)
{
	process_end(pod);
	pod->is_set_up = TRUE;
}

void pod_restart(Pod *pod)
{
	process_end(pod);
	pod->state = pod->grant ? POD_STARTING : POD_WAITING;
}

static void sandbox_end(Pod *pod)
{
	process_end(pod);
	pod->has_sandbox = pod->is_set_up = FALSE;
}

void pod_force(Pod *pod, gint64 until_us)
{
	pod->state = POD_FORCED;
	pod->forced_until_us = until_us;
	g_clear_pointer(&pod->grant, grant_free);
	g_clear_pointer(&pod->init, grant_free);
}

void pod_exit(Pod *pod)
{
	if (pod->has_sandbox)
		machine_pod_empty(pod->uid);
	sandbox_end(pod);
	pod->state = POD_ENDED;
	pod->ended_us = clock_now_us();
}

void pod_clean(Pod *pod)
{
	if (pod->has_cgroup)
		machine_pod_end(pod->uid);
	pod->has_cgroup = FALSE;
}

void pods_reboot(void)
{
	remains_reboot();
	for (guint i = pods.all->len; i-- > 0;) {
		Pod *pod = pods.all->pdata[i];

		sandbox_end(pod);
		pod->has_cgroup = FALSE;
		pod->may_be_readmitted = TRUE;
		if (pod->state == POD_FORCED)
			pods_delete(pod);
		else if (pod->state == POD_RUNNING || pod->state == POD_STARTING)
			pod->state = pod->grant ? POD_STARTING : POD_WAITING;
		else if (pod->state == POD_ADMITTING)
			pod->state = POD_WAITING;
	}
}
