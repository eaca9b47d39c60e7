/* SPDX-License-Identifier: Apache-2.0 */
#include "remains.h"

#include "clock.h"
#include "machine.h"

#define RARITY 4u

static const gint64 lasts_us[] = { 0, 2 * SIM_S, 20 * SIM_S, 100 * SIM_S };

typedef struct {
	char *uid, *name;
	gint64 due_us;
} Remains;

static struct {
	Decisions *decisions;
	GPtrArray *all; /* of Remains */
} remains;

static void one_free(gpointer data)
{
	Remains *one = data;

	g_free(one->uid);
	g_free(one->name);
	g_free(one);
}

void remains_begin(Decisions *decisions)
{
	remains.decisions = decisions;
	remains.all = g_ptr_array_new_with_free_func(one_free);
}

void remains_end(void)
{
	g_ptr_array_unref(remains.all);
}

gboolean remains_take(Pod *pod)
{
	const guint how = pod->has_cgroup ? decide_rarely(remains.decisions, DECIDE_REMAINS, RARITY,
							  G_N_ELEMENTS(lasts_us))
					  : 0;
	Remains *one;

	if (!how)
		return FALSE;
	one = g_new(Remains, 1);
	*one = (Remains){ g_strdup(pod->uid), g_strdup(pod->name), clock_now_us() + lasts_us[how] };
	g_ptr_array_add(remains.all, one);
	pod->has_cgroup = FALSE;
	return TRUE;
}

const char *remains_name(void)
{
	if (!remains.all->len || !decide_rarely(remains.decisions, DECIDE_REMAINS, 2, 2))
		return NULL;
	return ((const Remains *)remains.all->pdata[remains.all->len - 1])->name;
}

gint64 remains_due_us(void)
{
	gint64 due_us = G_MAXINT64;

	for (guint i = 0; i < remains.all->len; i++)
		due_us = MIN(due_us, ((const Remains *)remains.all->pdata[i])->due_us);
	return due_us;
}

void remains_work(void)
{
	for (guint i = remains.all->len; i-- > 0;) {
		const Remains *one = remains.all->pdata[i];

		if (one->due_us > clock_now_us())
			continue;
		machine_pod_end(one->uid);
		machine_pod_forget(one->uid, one->name);
		g_ptr_array_remove_index(remains.all, i);
	}
}

void remains_reboot(void)
{
	for (guint i = 0; i < remains.all->len; i++) {
		const Remains *one = remains.all->pdata[i];

		machine_pod_forget(one->uid, one->name);
	}
	g_ptr_array_set_size(remains.all, 0);
}
