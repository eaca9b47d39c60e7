/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <rdmad/fd.h>
#include <sys/eventfd.h>

#include "base/work-pool.h"
#include "clock.h"
#include "forced.h"
#include "turns.h"

static const gint64 takes_us[] = { 300, 5 * SIM_MS, 100 * SIM_MS, 2 * SIM_S, 20 * SIM_S };

typedef struct {
	RdmadJob *job;
	gint64 due_us;
} Waiting;

struct RdmadWorkPool {
	int wake;
	GQueue waiting;	 /* of Waiting */
	GQueue finished; /* of RdmadJob */
};

static RdmadWorkPool *pool, *set_aside; /* pools of this life */
static Decisions *decisions;

void pool_begin(Decisions *from)
{
	decisions = from;
}

void pool_set_aside(gboolean aside)
{
	if (aside)
		set_aside = pool;
	else
		pool = set_aside;
}

static Waiting *pool_first(void)
{
	Waiting *first = NULL;

	for (const GList *l = pool ? pool->waiting.head : NULL; l; l = l->next) {
		Waiting *waiting = l->data;

		if (!first || waiting->due_us < first->due_us)
			first = waiting;
	}
	return first;
}

gint64 pool_due_us(void)
{
	const Waiting *first = pool_first();

	return first ? first->due_us : G_MAXINT64;
}

void pool_work(void)
{
	Waiting *first = pool_first();
	RdmadJob *job = first->job;
	const guint64 one = 1;

	g_queue_remove(&pool->waiting, first);
	g_free(first);
	turns_set_in_rdmad(TRUE);
	if (job->klass->run && !rdmad_job_cancelled(job))
		job->result = job->klass->run(job->input, job, &job->error);
	turns_set_in_rdmad(FALSE);
	job->took_us = clock_now_us() - job->began_us;
	g_queue_push_tail(&pool->finished, job);
	g_assert_cmpint(write(pool->wake, &one, sizeof(one)), ==, sizeof(one));
}

/* ---- the functions of core/base/work-pool.h ---- */

#define POOL(function) __wrap_rdmad_work_pool_##function

RdmadWorkPool *POOL(new)(guint max_threads, GError **error);
RdmadWorkPool *POOL(new)(guint max_threads, GError **error)
{
	pool = g_new0(RdmadWorkPool, 1);
	pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g_queue_init(&pool->waiting);
	g_queue_init(&pool->finished);
	return pool;
}

void POOL(free)(RdmadWorkPool *ended);
void POOL(free)(RdmadWorkPool *ended)
{
	Waiting *waiting;
	RdmadJob *job;

	while ((waiting = g_queue_pop_head(&ended->waiting))) {
		rdmad_job_unref(waiting->job);
		g_free(waiting);
	}
	while ((job = g_queue_pop_head(&ended->finished)))
		rdmad_job_unref(job);
	close(ended->wake);
	g_free(ended);
	pool = NULL;
}

int POOL(fd)(const RdmadWorkPool *of);
int POOL(fd)(const RdmadWorkPool *of)
{
	return of->wake;
}

gboolean POOL(push)(RdmadWorkPool *to, RdmadJob *job, guint *grow_ms, GError **error);
gboolean POOL(push)(RdmadWorkPool *to, RdmadJob *job, guint *grow_ms, GError **error)
{
	/* That of a scrape's response only calculates. */
	const guint how =
		g_str_equal(job->klass->name, "metrics")
			? 0
			: decide_rarely(decisions, DECIDE_JOB, 12, G_N_ELEMENTS(takes_us));
	Waiting *waiting = g_new(Waiting, 1);

	job->began_us = clock_now_us();
	if (takes_us[how] >= SIM_S && g_str_equal(job->klass->name, "cgroups of pods"))
		forced_unseen(job->began_us + takes_us[how]);
	*waiting = (Waiting){ job, job->began_us + takes_us[how] };
	g_queue_push_tail(&to->waiting, waiting);
	*grow_ms = 0;
	return TRUE;
}

guint POOL(grow)(RdmadWorkPool *of);
guint POOL(grow)(RdmadWorkPool *of)
{
	return 0;
}

void POOL(take)(RdmadWorkPool *from, GQueue *finished);
void POOL(take)(RdmadWorkPool *from, GQueue *finished)
{
	*finished = from->finished;
	g_queue_init(&from->finished);
}

void POOL(return )(RdmadWorkPool *to, RdmadJob *job);
void POOL(return )(RdmadWorkPool *to, RdmadJob *job)
{
	rdmad_job_unref(job);
}

guint POOL(threads)(RdmadWorkPool *of);
guint POOL(threads)(RdmadWorkPool *of)
{
	return 1;
}
