/* SPDX-License-Identifier: Apache-2.0 */
#include "forced.h"

#include "clock.h"
#include "kubelet.h"
#include "runtime.h"

static const gint64 lasts_us[] = { SIM_S, 30 * SIM_S, 300 * SIM_MS, 100 * SIM_S };

static gint64 unseen_until_us;

void forced_begin(void)
{
	unseen_until_us = 0;
}

void forced_unseen(gint64 until_us)
{
	const GPtrArray *pods = pods_all();

	unseen_until_us = MAX(unseen_until_us, until_us);
	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];

		if (pod->state == POD_FORCED)
			g_clear_pointer(&pod->had, grant_free);
	}
}

gint64 forced_unseen_until_us(void)
{
	return unseen_until_us;
}

void forced_delete(Pod *pod, Decisions *decisions)
{
	pod_force(pod, clock_now_us() + lasts_us[decide_rarely(decisions, DECIDE_REMAINS, 2,
							       G_N_ELEMENTS(lasts_us))]);
	decisions_note(decisions, "%s forced %" G_GINT64_FORMAT, pod->name, clock_now_us());
	kubelet_sync_pods();
}

gint64 forced_due_us(void)
{
	const GPtrArray *pods = pods_all();
	gint64 due_us = G_MAXINT64;

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];

		if (pod->state == POD_FORCED)
			due_us = MIN(due_us, pod->forced_until_us);
	}
	return due_us;
}

void forced_work(gint64 until_us)
{
	for (guint i = pods_all()->len; i-- > 0;) {
		Pod *pod = pods_all()->pdata[i];

		if (pod->state != POD_FORCED || pod->forced_until_us > until_us)
			continue;
		pod_exit(pod);
		runtime_pod_ended(pod);
		pods_delete(pod);
	}
	kubelet_sync_pods();
}
