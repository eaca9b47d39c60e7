/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on the loop's side: their owners and deadlines */
#include "base/work.h"

#include <rdmad/error.h>
#include <rdmad/fd.h>

#include "base/loop.h"
#include "base/work-pool.h"

struct RdmadWorkers {
	RdmadLoop *loop;
	RdmadWorkPool *pool;
	RdmadEvent *wake_event;
	RdmadEvent *grow; /* timer: another thread may be needed */
	GQueue open;	  /* RdmadJob whose `done` may still be called */
	RdmadStat *jobs, *durations;
};

static const RdmadStatClass jobs_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_work_jobs",
	.help = "Completed jobs of worker threads, by result",
	.labels = { "job", "result" },
};

static const RdmadStatClass durations_class = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_work_job_duration_seconds",
	.unit = "seconds",
	.help = "Duration of jobs on a worker thread, including cancelled jobs",
	.labels = { "job" },
	.bounds =
		(const double[]){ 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 0 },
};

static void workers_count(const RdmadWorkers *workers, const RdmadJob *job, const char *result)
{
	rdmad_stat_add(workers->jobs, 1, (const char *const[]){ job->klass->name, result, NULL });
}

/* Removes a job from the open ones.  Its `data` is not used afterwards. */
static void job_close(RdmadJob *job)
{
	g_queue_unlink(&job->workers->open, &job->node);
	g_clear_pointer(&job->deadline, rdmad_event_free);
	job->workers = NULL;
}

static void job_finish(RdmadJob *job)
{
	workers_count(job->workers, job, job->error ? "error" : "ok");
	job_close(job);
	if (job->klass->done)
		job->klass->done(g_steal_pointer(&job->result), job->error, job->data);
	rdmad_job_unref(job);
}

static void workers_grow(gpointer data)
{
	RdmadWorkers *workers = data;
	const guint again_ms = rdmad_work_pool_grow(workers->pool);

	if (again_ms)
		rdmad_event_arm(workers->grow, again_ms);
}

static void workers_woken(int fd, RdmadIo ready, gpointer data)
{
	RdmadWorkers *workers = data;
	GQueue finished;
	guint64 count;
	RdmadJob *job;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
	rdmad_work_pool_take(workers->pool, &finished);
	while ((job = g_queue_pop_head(&finished))) {
		rdmad_stat_observe(workers->durations, (double)job->took_us / G_USEC_PER_SEC,
				   (const char *const[]){ job->klass->name, NULL });
		if (!job->workers && job->result) { /* cancelled after it ran */
			rdmad_work_pool_return(workers->pool, job);
			continue;
		}
		if (job->workers)
			job_finish(job);
		rdmad_job_unref(job);
	}
	workers_grow(workers);
}

static void job_timeout(gpointer data)
{
	RdmadJob *job = data;
	g_autoptr(GError) error = g_error_new(RDMAD_ERROR, RDMAD_ERROR_TIMEOUT,
					      "%s did not end in time", job->klass->name);

	g_atomic_int_set(&job->cancelled, 1);
	workers_count(job->workers, job, "timeout");
	job_close(job);
	if (job->klass->done)
		job->klass->done(NULL, error, job->data);
	rdmad_job_unref(job);
}

void rdmad_job_cancel(RdmadJob *job)
{
	if (!job || !job->workers)
		return;
	g_atomic_int_set(&job->cancelled, 1);
	workers_count(job->workers, job, "cancelled");
	job_close(job);
	rdmad_job_unref(job);
}

RdmadWorkers *rdmad_workers_new(RdmadLoop *loop, guint threads, GError **error)
{
	RdmadWorkPool *pool = rdmad_work_pool_new(threads, error);
	RdmadWorkers *workers;

	if (!pool)
		return NULL;
	workers = g_new0(RdmadWorkers, 1);
	workers->loop = loop;
	workers->pool = pool;
	workers->wake_event = rdmad_loop_add_io(loop, NULL, rdmad_work_pool_fd(pool), RDMAD_IO_READ,
						workers_woken, workers, error);
	if (!workers->wake_event) {
		rdmad_workers_free(workers);
		return NULL;
	}
	workers->grow = rdmad_loop_add_timer(loop, NULL, workers_grow, workers);
	workers->jobs = rdmad_loop_stat(loop, &jobs_class);
	workers->durations = rdmad_loop_stat(loop, &durations_class);
	return workers;
}

RdmadJob *rdmad_work_submit(RdmadWorkers *workers, RdmadModule *owner, const RdmadJobClass *klass,
			    gpointer input, guint deadline_ms, gpointer data, GError **error)
{
	RdmadJob *job = g_new0(RdmadJob, 1);
	guint grow_ms;

	job->refs = 2;
	job->klass = klass;
	job->input = input;
	job->workers = workers;
	job->owner = owner;
	job->data = data;
	job->node.data = job;
	if (!rdmad_work_pool_push(workers->pool, job, &grow_ms, error)) {
		workers_count(workers, job, "refused");
		rdmad_job_unref(job);
		rdmad_job_unref(job);
		return NULL;
	}
	g_queue_push_tail_link(&workers->open, &job->node);
	if (grow_ms && !rdmad_event_armed(workers->grow))
		rdmad_event_arm(workers->grow, grow_ms);
	if (deadline_ms) {
		job->deadline = rdmad_loop_add_timer(workers->loop, NULL, job_timeout, job);
		rdmad_event_arm(job->deadline, deadline_ms);
	}
	return job;
}

guint rdmad_workers_threads(const RdmadWorkers *workers)
{
	return rdmad_work_pool_threads(workers->pool);
}

guint rdmad_workers_reap(RdmadWorkers *workers, const RdmadModule *owner)
{
	guint n = 0;

	for (GList *l = workers->open.head, *next; l; l = next) {
		RdmadJob *job = l->data;

		next = l->next;
		if (job->owner != owner)
			continue;
		rdmad_job_cancel(job);
		n++;
	}
	return n;
}

void rdmad_workers_free(RdmadWorkers *workers)
{
	if (!workers)
		return;
	while (workers->open.head)
		rdmad_job_cancel(workers->open.head->data);
	rdmad_event_free(workers->wake_event);
	rdmad_event_free(workers->grow);
	rdmad_work_pool_free(workers->pool);
	g_free(workers);
}
