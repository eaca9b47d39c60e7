/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lists and a descriptor: jobs wait for a thread, finished ones wait for the loop, an eventfd
 * tells the loop.  A job has two holders, the loop's side and the worker's; whoever lets go last
 * frees it.  pthreads and not GLib's own locks, because the thread sanitizer understands them.
 */
#define RDMAD_LOG_TOPIC "work"

#include "base/work-private.h"

#include <errno.h>
#include <pthread.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#define QUEUE_MAX      1024u
#define THREAD_QUIET_S 10 /* an idle thread ends after this */
#define FREE_WAIT_S    10 /* how long a stuck job may hold up the end of the process */
#define STACK_SIZE     (512u * 1024)

/* What threads see; outlives RdmadWorkers while a stuck job still runs. */
typedef struct {
	pthread_mutex_t lock;
	pthread_cond_t work; /* waiting has grown, or stopping */
	pthread_cond_t gone; /* threads has shrunk */
	GQueue waiting;	     /* RdmadJob */
	GQueue finished;     /* RdmadJob */
	guint threads, idle;
	gboolean stopping;
	int wake; /* eventfd */
	int refs; /* the workers' and one a thread */
} Pool;

struct RdmadWorkers {
	RdmadLoop *loop;
	Pool *pool;
	guint max_threads;
	RdmadEvent *wake_event;
	GQueue open; /* RdmadJob whose `done` may still be called */
};

struct RdmadJob {
	int refs;
	const RdmadJobClass *klass;
	gpointer input;
	gpointer result;
	GError *error;
	int cancelled; /* atomic: nobody waits any more */

	/* The loop's side only. */
	RdmadWorkers *workers; /* NULL once it is no longer open */
	RdmadModule *owner;
	gpointer data;
	RdmadEvent *deadline;
	GList node;
};

static void job_unref(RdmadJob *job)
{
	if (!g_atomic_int_dec_and_test(&job->refs))
		return;
	if (job->input && job->klass->free_input)
		job->klass->free_input(job->input);
	if (job->result && job->klass->free_result)
		job->klass->free_result(job->result);
	g_clear_error(&job->error);
	g_free(job);
}

static void pool_unref(Pool *pool)
{
	if (!g_atomic_int_dec_and_test(&pool->refs))
		return;
	close(pool->wake);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->gone);
	g_free(pool);
}

/* ---- on a worker thread ---- */

/* The next job, or NULL when the thread should end.  Called and returns with the lock held. */
static RdmadJob *pool_next(Pool *pool)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += THREAD_QUIET_S;
	while (!pool->waiting.length && !pool->stopping) {
		int r;

		pool->idle++;
		r = pthread_cond_timedwait(&pool->work, &pool->lock, &until);
		pool->idle--;
		if (r == ETIMEDOUT && !pool->waiting.length)
			return NULL;
	}
	return pool->stopping ? NULL : g_queue_pop_head(&pool->waiting);
}

static void pool_run(Pool *pool, RdmadJob *job)
{
	const guint64 one = 1;

	if (!rdmad_job_cancelled(job))
		job->result = job->klass->run(job->input, job, &job->error);

	pthread_mutex_lock(&pool->lock);
	if (pool->stopping) {
		job_unref(job);
		return;
	}
	g_queue_push_tail(&pool->finished, job);
	if (write(pool->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
		rdmad_err("cannot wake the loop: %s", g_strerror(errno));
}

static void *pool_thread(void *arg)
{
	Pool *pool = arg;
	RdmadJob *job;

	pthread_mutex_lock(&pool->lock);
	while ((job = pool_next(pool))) {
		pthread_mutex_unlock(&pool->lock);
		pool_run(pool, job); /* comes back with the lock */
	}
	pool->threads--;
	pthread_cond_signal(&pool->gone);
	pthread_mutex_unlock(&pool->lock);
	pool_unref(pool);
	return NULL;
}

gboolean rdmad_job_cancelled(const RdmadJob *job)
{
	return g_atomic_int_get(&job->cancelled) != 0;
}

/* ---- on the loop ---- */

/* Takes a job off the list of those that are waited for; its `data` is then free to go. */
static void job_close(RdmadJob *job)
{
	g_queue_unlink(&job->workers->open, &job->node);
	g_clear_pointer(&job->deadline, rdmad_event_free);
	job->workers = NULL;
}

static void job_finish(RdmadJob *job)
{
	if (!job->workers)
		return;
	job_close(job);
	if (!job->result && !job->error)
		g_set_error(&job->error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "%s gave no result",
			    job->klass->name);
	job->klass->done(g_steal_pointer(&job->result), job->error, job->data);
	job_unref(job);
}

static void workers_woken(int fd, RdmadIo ready, gpointer data)
{
	RdmadWorkers *workers = data;
	GQueue finished;
	guint64 count;
	RdmadJob *job;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&workers->pool->lock);
	finished = workers->pool->finished;
	g_queue_init(&workers->pool->finished);
	pthread_mutex_unlock(&workers->pool->lock);
	while ((job = g_queue_pop_head(&finished))) {
		job_finish(job);
		job_unref(job);
	}
}

static void job_late(gpointer data)
{
	RdmadJob *job = data;
	g_autoptr(GError) error = g_error_new(RDMAD_ERROR, RDMAD_ERROR_TIMEOUT,
					      "%s did not end in time", job->klass->name);

	g_atomic_int_set(&job->cancelled, 1);
	job_close(job);
	job->klass->done(NULL, error, job->data);
	job_unref(job);
}

void rdmad_job_cancel(RdmadJob *job)
{
	if (!job || !job->workers)
		return;
	g_atomic_int_set(&job->cancelled, 1);
	job_close(job);
	job_unref(job);
}

static Pool *pool_new(GError **error)
{
	const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_condattr_t attr;
	Pool *pool;

	if (wake < 0) {
		rdmad_error_errno(error, errno, "eventfd");
		return NULL;
	}
	pool = g_new0(Pool, 1);
	pool->wake = wake;
	pool->refs = 1;
	g_queue_init(&pool->waiting);
	g_queue_init(&pool->finished);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->work, &attr);
	pthread_cond_init(&pool->gone, &attr);
	pthread_condattr_destroy(&attr);
	return pool;
}

RdmadWorkers *rdmad_workers_new(RdmadLoop *loop, guint threads)
{
	g_autoptr(GError) error = NULL;
	RdmadWorkers *workers = g_new0(RdmadWorkers, 1);

	workers->loop = loop;
	workers->max_threads = threads;
	workers->pool = pool_new(&error);
	if (!workers->pool)
		g_error("cannot make workers: %s", error->message);
	workers->wake_event = rdmad_loop_add_io(loop, NULL, workers->pool->wake, RDMAD_IO_READ,
						workers_woken, workers);
	return workers;
}

/* With every signal blocked: they are the loop's. */
static int thread_start(Pool *pool)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	g_atomic_int_inc(&pool->refs);
	r = pthread_create(&thread, &attr, pool_thread, pool);
	if (r)
		g_atomic_int_add(&pool->refs, -1);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* Called with the lock held.  A job may stay queued without a new thread, but not without any. */
static gboolean pool_staff(Pool *pool, guint max_threads, GError **error)
{
	int r;

	if (pool->waiting.length < pool->idle || pool->threads >= max_threads)
		return TRUE;
	r = thread_start(pool);
	if (!r)
		pool->threads++;
	else if (!pool->threads)
		return rdmad_error_errno(error, r, "cannot start a worker thread");
	return TRUE;
}

static gboolean pool_push(Pool *pool, guint max_threads, RdmadJob *job, GError **error)
{
	gboolean ok = FALSE;

	pthread_mutex_lock(&pool->lock);
	if (pool->waiting.length >= QUEUE_MAX)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "%s: %u jobs are waiting already", job->klass->name, QUEUE_MAX);
	else
		ok = pool_staff(pool, max_threads, error);
	if (ok) {
		g_queue_push_tail(&pool->waiting, job);
		pthread_cond_signal(&pool->work);
	}
	pthread_mutex_unlock(&pool->lock);
	return ok;
}

RdmadJob *rdmad_work_submit(RdmadWorkers *workers, RdmadModule *owner, const RdmadJobClass *klass,
			    gpointer input, guint deadline_ms, gpointer data, GError **error)
{
	RdmadJob *job = g_new0(RdmadJob, 1);

	job->refs = 2;
	job->klass = klass;
	job->input = input;
	job->workers = workers;
	job->owner = owner;
	job->data = data;
	job->node.data = job;
	if (!pool_push(workers->pool, workers->max_threads, job, error)) {
		job_unref(job);
		job_unref(job);
		return NULL;
	}
	g_queue_push_tail_link(&workers->open, &job->node);
	if (deadline_ms) {
		job->deadline = rdmad_loop_add_timer(workers->loop, NULL, job_late, job);
		rdmad_event_arm(job->deadline, deadline_ms);
	}
	return job;
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

/* Called with the lock held. */
static void pool_wait_for_threads(Pool *pool)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += FREE_WAIT_S;
	while (pool->threads)
		if (pthread_cond_timedwait(&pool->gone, &pool->lock, &until) == ETIMEDOUT) {
			rdmad_warn("%u jobs do not end, leaving them", pool->threads);
			return;
		}
}

static void pool_stop(Pool *pool)
{
	RdmadJob *job;

	pthread_mutex_lock(&pool->lock);
	pool->stopping = TRUE;
	pthread_cond_broadcast(&pool->work);
	pool_wait_for_threads(pool);
	while ((job = g_queue_pop_head(&pool->waiting)))
		job_unref(job);
	while ((job = g_queue_pop_head(&pool->finished)))
		job_unref(job);
	pthread_mutex_unlock(&pool->lock);
	pool_unref(pool);
}

void rdmad_workers_free(RdmadWorkers *workers)
{
	if (!workers)
		return;
	while (workers->open.head)
		rdmad_job_cancel(workers->open.head->data);
	rdmad_event_free(workers->wake_event);
	pool_stop(workers->pool);
	g_free(workers);
}
