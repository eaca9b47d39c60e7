/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs wait in one list for a thread; finished jobs wait in another for the loop, which an eventfd
 * wakes.  The locks are those of pthreads, because the thread sanitizer does not understand GLib's.
 */
#define RDMAD_LOG_TOPIC "work"

#include "base/work-pool.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#define QUEUE_MAX      1024u
#define THREAD_QUIET_S 10 /* after which an idle thread ends */
#define FREE_WAIT_S    10 /* for hanging jobs at the end of the process */
#define STACK_SIZE     (512u * 1024)
#define WAKE_TRIES     8u

/* Shared with the threads.  Outlives RdmadWorkers while a hanging job still runs. */
struct RdmadWorkPool {
	pthread_mutex_t lock;
	pthread_cond_t work;  /* waiting has grown, or stopping */
	pthread_cond_t ended; /* threads has shrunk */
	GQueue waiting;	      /* RdmadJob */
	GQueue running;	      /* RdmadJob, the oldest first */
	GQueue finished;      /* RdmadJob */
	guint threads;
	guint max_threads; /* excluding threads whose job runs for long */
	gboolean stopping;
	int wake; /* eventfd */
	int refs; /* one of the workers and one of each thread */
};

static void job_free_input(RdmadJob *job)
{
	gpointer input = g_steal_pointer(&job->input);

	if (input && job->klass->free_input)
		job->klass->free_input(input);
}

static void job_free_result(RdmadJob *job)
{
	gpointer result = g_steal_pointer(&job->result);

	if (result && job->klass->free_result)
		job->klass->free_result(result);
}

void rdmad_job_unref(RdmadJob *job)
{
	if (!g_atomic_int_dec_and_test(&job->refs))
		return;
	job_free_input(job);
	job_free_result(job);
	g_clear_error(&job->error);
	g_free(job);
}

static void pool_unref(RdmadWorkPool *pool)
{
	if (!g_atomic_int_dec_and_test(&pool->refs))
		return;
	close(pool->wake);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->ended);
	g_free(pool);
}

/* Called with the lock held.  Returns the current limit of threads. */
static guint pool_limit(const RdmadWorkPool *pool)
{
	const gint64 before_us = rdmad_now_us() - RDMAD_WORK_LONG_MS * 1000;
	guint limit = pool->max_threads;

	for (const GList *l = pool->running.head; l; l = l->next) {
		if (((const RdmadJob *)l->data)->began_us > before_us)
			break;
		limit++;
	}
	return MIN(limit, MAX(RDMAD_WORK_THREADS_MAX, pool->max_threads));
}

/* Called with the lock held.  Returns the number of threads without a job. */
static guint pool_free_threads(const RdmadWorkPool *pool)
{
	return pool->threads - pool->running.length;
}

/* Returns a time for pthread_cond_timedwait(). */
static struct timespec after_s(gint64 seconds)
{
	const gint64 us = rdmad_now_us() + seconds * G_USEC_PER_SEC;

	return (struct timespec){ us / G_USEC_PER_SEC, us % G_USEC_PER_SEC * 1000 };
}

/* ---- on a worker thread ---- */

/* Called and returns with the lock held.  Returns the next job, or NULL if the thread should
 * end.  When the pool stops, the thread still gets all waiting jobs. */
static RdmadJob *pool_next(RdmadWorkPool *pool)
{
	struct timespec until;

	/* The thread's long job has ended, and the other threads suffice. */
	if (pool->threads > pool_limit(pool))
		return NULL;
	until = after_s(THREAD_QUIET_S);
	while (!pool->waiting.length && !pool->stopping) {
		const int r = pthread_cond_timedwait(&pool->work, &pool->lock, &until);

		if (r == ETIMEDOUT && !pool->waiting.length)
			return NULL;
	}
	return g_queue_pop_head(&pool->waiting);
}

/* Called with the lock held. */
static void pool_begin(RdmadWorkPool *pool, RdmadJob *job)
{
	job->began_us = rdmad_now_us();
	job->run_node.data = job;
	g_queue_push_tail_link(&pool->running, &job->run_node);
}

/* EAGAIN: the loop has not read the previous value yet.  Retries, because without the write the
 * result is not delivered. */
static void pool_wake(const RdmadWorkPool *pool)
{
	const guint64 one = 1;

	for (guint tries = 0; tries < WAKE_TRIES; tries++)
		if (write(pool->wake, &one, sizeof(one)) >= 0 || errno == EAGAIN)
			return;
	rdmad_err("cannot wake the loop: %s", g_strerror(errno));
}

static void job_run(RdmadJob *job)
{
	if (job->klass->run && !rdmad_job_cancelled(job))
		job->result = job->klass->run(job->input, job, &job->error);
	job_free_input(job);
	if (job->error || rdmad_job_cancelled(job))
		job_free_result(job);
}

static void pool_run(RdmadWorkPool *pool, RdmadJob *job)
{
	job_run(job);
	pthread_mutex_lock(&pool->lock);
	job->took_us = rdmad_now_us() - job->began_us;
	g_queue_unlink(&pool->running, &job->run_node);
	if (pool->stopping || job->returned) {
		pthread_mutex_unlock(&pool->lock);
		rdmad_job_unref(job);
		pthread_mutex_lock(&pool->lock);
		return;
	}
	g_queue_push_tail(&pool->finished, job);
	/* Wakes without the lock, for which the loop would wait at once. */
	pthread_mutex_unlock(&pool->lock);
	pool_wake(pool);
	pthread_mutex_lock(&pool->lock);
}

static void *pool_thread(void *arg)
{
	RdmadWorkPool *pool = arg;
	gboolean is_last;
	RdmadJob *job;

	pthread_mutex_lock(&pool->lock);
	while ((job = pool_next(pool))) {
		pool_begin(pool, job);
		pthread_mutex_unlock(&pool->lock);
		pool_run(pool, job); /* returns with the lock held */
	}
	is_last = --pool->threads == 0 && !pool->stopping;
	pthread_cond_signal(&pool->ended);
	pthread_mutex_unlock(&pool->lock);
	pool_unref(pool);
	/* Nothing has happened for a while: what the jobs freed goes back to the kernel. */
	if (is_last)
		malloc_trim(0);
	return NULL;
}

gboolean rdmad_job_cancelled(const RdmadJob *job)
{
	return g_atomic_int_get(&job->cancelled) != 0;
}

/* ---- on the loop ---- */

/* Starts a thread with all signals blocked, because the loop handles them. */
static int thread_start(RdmadWorkPool *pool)
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

/* Called with the lock held.  A failure to start a thread is an error only if there is none:
 * otherwise the job stays queued. */
static gboolean pool_add_thread(RdmadWorkPool *pool, GError **error)
{
	int r;

	if (pool->waiting.length < pool_free_threads(pool) || pool->threads >= pool_limit(pool))
		return TRUE;
	r = thread_start(pool);
	if (!r)
		pool->threads++;
	else if (!pool->threads)
		return rdmad_error_errno(error, r, "cannot start a worker thread");
	return TRUE;
}

/* Called with the lock held.  Returns the delay after which a running job counts as long, so
 * that waiting jobs may get another thread; 0 if no job waits or no thread can be added. */
static guint pool_grow_delay_ms(const RdmadWorkPool *pool)
{
	const gint64 now_us = rdmad_now_us();

	if (pool->waiting.length <= pool_free_threads(pool) ||
	    pool->threads >= RDMAD_WORK_THREADS_MAX)
		return 0;
	for (const GList *l = pool->running.head; l; l = l->next) {
		const gint64 ran_ms = (now_us - ((const RdmadJob *)l->data)->began_us) / 1000;

		if (ran_ms < RDMAD_WORK_LONG_MS)
			return (guint)(RDMAD_WORK_LONG_MS - ran_ms);
	}
	return RDMAD_WORK_LONG_MS;
}

gboolean rdmad_work_pool_push(RdmadWorkPool *pool, RdmadJob *job, guint *grow_ms, GError **error)
{
	const gboolean refusable = job->klass->run != NULL;
	gboolean ok = FALSE;

	pthread_mutex_lock(&pool->lock);
	if (refusable && pool->waiting.length >= QUEUE_MAX)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "%s: %u jobs are waiting already", job->klass->name, QUEUE_MAX);
	else
		ok = pool_add_thread(pool, refusable ? error : NULL) || !refusable;
	if (ok)
		g_queue_push_tail(&pool->waiting, job);
	*grow_ms = pool_grow_delay_ms(pool);
	pthread_mutex_unlock(&pool->lock);
	if (ok)
		pthread_cond_signal(&pool->work);
	return ok;
}

/* Called with the lock held. */
static void pool_return(RdmadWorkPool *pool, RdmadJob *job)
{
	job->returned = TRUE;
	pool_add_thread(pool, NULL);
	g_queue_push_tail(&pool->waiting, job);
	pthread_cond_signal(&pool->work);
}

void rdmad_work_pool_return(RdmadWorkPool *pool, RdmadJob *job)
{
	pthread_mutex_lock(&pool->lock);
	pool_return(pool, job);
	pthread_mutex_unlock(&pool->lock);
}

guint rdmad_work_pool_grow(RdmadWorkPool *pool)
{
	guint wanted, grow_ms;

	pthread_mutex_lock(&pool->lock);
	wanted = pool->waiting.length - MIN(pool->waiting.length, pool_free_threads(pool));
	while (wanted-- && pool->threads < pool_limit(pool) && !thread_start(pool))
		pool->threads++;
	grow_ms = pool_grow_delay_ms(pool);
	pthread_mutex_unlock(&pool->lock);
	return grow_ms;
}

void rdmad_work_pool_take(RdmadWorkPool *pool, GQueue *finished)
{
	pthread_mutex_lock(&pool->lock);
	*finished = pool->finished;
	g_queue_init(&pool->finished);
	pthread_mutex_unlock(&pool->lock);
}

guint rdmad_work_pool_threads(RdmadWorkPool *pool)
{
	guint threads;

	pthread_mutex_lock(&pool->lock);
	threads = pool->threads;
	pthread_mutex_unlock(&pool->lock);
	return threads;
}

int rdmad_work_pool_fd(const RdmadWorkPool *pool)
{
	return pool->wake;
}

RdmadWorkPool *rdmad_work_pool_new(guint max_threads, GError **error)
{
	const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_condattr_t attr;
	RdmadWorkPool *pool;

	if (wake < 0) {
		rdmad_error_errno(error, errno, "eventfd");
		return NULL;
	}
	pool = g_new0(RdmadWorkPool, 1);
	pool->wake = wake;
	pool->refs = 1;
	pool->max_threads = max_threads;
	g_queue_init(&pool->waiting);
	g_queue_init(&pool->running);
	g_queue_init(&pool->finished);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->work, &attr);
	pthread_cond_init(&pool->ended, &attr);
	pthread_condattr_destroy(&attr);
	return pool;
}

/* Called with the lock held. */
static void pool_wait_for_threads(RdmadWorkPool *pool)
{
	const struct timespec until = after_s(FREE_WAIT_S);

	while (pool->threads)
		if (pthread_cond_timedwait(&pool->ended, &pool->lock, &until) == ETIMEDOUT) {
			rdmad_warn("%u jobs do not end, leaving them", pool->threads);
			return;
		}
}

void rdmad_work_pool_free(RdmadWorkPool *pool)
{
	RdmadJob *job;

	pthread_mutex_lock(&pool->lock);
	while ((job = g_queue_pop_head(&pool->finished)))
		pool_return(pool, job);
	pool->stopping = TRUE;
	pthread_cond_broadcast(&pool->work);
	pool_wait_for_threads(pool);
	/* Without threads, free the waiting jobs here.  Otherwise the hanging threads will do
	 * so. */
	while (!pool->threads && (job = g_queue_pop_head(&pool->waiting)))
		rdmad_job_unref(job);
	pthread_mutex_unlock(&pool->lock);
	pool_unref(pool);
}
