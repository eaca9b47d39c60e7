/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <rdmad/error.h>
#include <rdmad/loop.h>
#include <rdmad/work.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/work.h"
#include "service/stats-private.h"

#include "../stats-text.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadLoop *loop;
	RdmadWorkers *workers;
	guint done, wanted;
	int sum;
	GError *error;
} Fixture;

/* Numbers of endless jobs that have begun, and of freed inputs and results; from any thread. */
static int begun, freed;
/* how many of these were freed on the thread of the loop */
static int freed_on_loop;
static pthread_t loop_thread;

static void count_free(gpointer p)
{
	if (pthread_equal(pthread_self(), loop_thread))
		g_atomic_int_inc(&freed_on_loop);
	g_atomic_int_inc(&freed);
	g_free(p);
}

static void setup(Fixture *f, gconstpointer data)
{
	g_atomic_int_set(&begun, 0);
	g_atomic_int_set(&freed, 0);
	g_atomic_int_set(&freed_on_loop, 0);
	loop_thread = pthread_self();
	f->loop = rdmad_loop_new();
	f->workers = rdmad_workers_new(f->loop, 4, NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_workers_free(f->workers);
	rdmad_loop_free(f->loop);
	g_clear_error(&f->error);
}

static void one_done(gpointer result, const GError *error, gpointer data)
{
	Fixture *f = data;

	if (result)
		f->sum += *(int *)result;
	if (error && !f->error)
		f->error = g_error_copy(error);
	g_free(result);
	if (++f->done == f->wanted)
		rdmad_loop_stop(f->loop);
}

static gpointer run_square(gpointer input, const RdmadJob *job, GError **error)
{
	int *result = g_new(int, 1);

	*result = *(int *)input * *(int *)input;
	return result;
}

static gpointer run_fail(gpointer input, const RdmadJob *job, GError **error)
{
	g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_GONE, "the cable fell out");
	return NULL;
}

static gpointer run_until_cancelled(gpointer input, const RdmadJob *job, GError **error)
{
	g_atomic_int_inc(&begun);
	while (!rdmad_job_cancelled(job))
		usleep(1000);
	return run_square(input, job, error);
}

static const RdmadJobClass square = { "square", run_square, one_done, count_free, count_free };
static const RdmadJobClass failing = { "failing", run_fail, one_done, count_free, count_free };
static const RdmadJobClass endless = { "endless", run_until_cancelled, one_done, count_free,
				       count_free };

static gpointer run_nothing(gpointer input, const RdmadJob *job, GError **error)
{
	return NULL;
}

static gpointer run_on_and_on(gpointer input, const RdmadJob *job, GError **error)
{
	usleep(20000);
	return run_square(input, job, error);
}

static const RdmadJobClass quiet = { "quiet", run_nothing, one_done, count_free, count_free };
static const RdmadJobClass deaf = { "deaf", run_on_and_on, one_done, count_free, count_free };
static const RdmadJobClass closing = { .name = "closing", .free_input = count_free };

static RdmadJob *submit(Fixture *f, const RdmadJobClass *klass, RdmadModule *owner, int value,
			guint deadline_ms)
{
	g_autoptr(GError) error = NULL;
	int *input = g_new(int, 1);
	RdmadJob *job;

	*input = value;
	job = rdmad_work_submit(f->workers, owner, klass, input, deadline_ms, f, &error);
	g_assert_no_error(error);
	return job;
}

static void test_results_of_many_jobs_come_back_on_the_loop(Fixture *f, gconstpointer data)
{
	f->wanted = 500;
	for (int i = 0; i < 500; i++)
		submit(f, &square, NULL, 2, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->sum, ==, 2000);
	g_assert_no_error(f->error);
}

static void test_a_failure_comes_with_its_error(Fixture *f, gconstpointer data)
{
	f->wanted = 1;
	submit(f, &failing, NULL, 1, 0);
	rdmad_loop_run(f->loop);
	g_assert_error(f->error, RDMAD_ERROR, RDMAD_ERROR_GONE);
}

static void test_at_the_deadline_the_loop_is_notified_and_the_job_cancelled(Fixture *f,
									    gconstpointer data)
{
	f->wanted = 1;
	submit(f, &endless, NULL, 3, 20);
	rdmad_loop_run(f->loop);
	g_assert_error(f->error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT);
	g_assert_cmpint(f->sum, ==, 0);
	g_clear_pointer(&f->workers, rdmad_workers_free);
	/* Its input, and the late result of a job that had begun. */
	g_assert_cmpint(g_atomic_int_get(&freed), ==, 1 + g_atomic_int_get(&begun));
}

static void test_a_cancelled_job_is_never_reported(Fixture *f, gconstpointer data)
{
	f->wanted = 1;
	rdmad_job_cancel(submit(f, &endless, NULL, 3, 1000));
	submit(f, &square, NULL, 5, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->sum, ==, 25);
	g_assert_cmpuint(f->done, ==, 1);
}

static void test_jobs_end_with_their_owner(Fixture *f, gconstpointer data)
{
	submit(f, &endless, SOME_MODULE, 1, 0);
	submit(f, &endless, SOME_MODULE, 1, 0);
	f->wanted = 1;
	submit(f, &square, NULL, 4, 0);
	g_assert_cmpuint(rdmad_workers_reap(f->workers, SOME_MODULE), ==, 2);
	g_assert_cmpuint(rdmad_workers_reap(f->workers, SOME_MODULE), ==, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->sum, ==, 16);
	g_assert_cmpuint(f->done, ==, 1);
}

static void test_a_full_queue_refuses_and_frees_the_input(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	int before;
	guint n = 0;

	while (!error && n < 5000) {
		before = g_atomic_int_get(&freed);
		if (!rdmad_work_submit(f->workers, NULL, &endless, g_new0(int, 1), 0, f, &error))
			g_assert_cmpint(g_atomic_int_get(&freed), ==, before + 1);
		else
			n++;
	}
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
	g_assert_cmpuint(n, >=, 1024);
	g_assert_cmpuint(n, <=, 1024 + 4);
}

static void test_no_thread_is_held_up_by_a_stuck_one(Fixture *f, gconstpointer data)
{
	for (int i = 0; i < 3; i++)
		submit(f, &endless, NULL, 1, 0);
	f->wanted = 100;
	for (int i = 0; i < 100; i++)
		submit(f, &square, NULL, 1, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->sum, ==, 100);
}

static void test_hanging_jobs_delay_no_others(Fixture *f, gconstpointer data)
{
	const gint64 began_us = g_get_monotonic_time();

	for (int i = 0; i < 4; i++)
		submit(f, &endless, NULL, 1, 0);
	f->wanted = 1;
	submit(f, &square, NULL, 3, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->sum, ==, 9);
	/* Only after the jobs count as long. */
	g_assert_cmpint(g_get_monotonic_time() - began_us, >=, RDMAD_WORK_LONG_MS * 1000);
	g_assert_cmpint(g_get_monotonic_time() - began_us, <, 5 * G_USEC_PER_SEC);
	g_assert_cmpuint(rdmad_workers_threads(f->workers), ==, 5);
	/* They count as long already, so there is no further wait. */
	f->wanted = 2;
	submit(f, &square, NULL, 4, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->sum, ==, 25);
}

static void test_threads_are_bounded_whatever_hangs(Fixture *f, gconstpointer data)
{
	const guint many = RDMAD_WORK_THREADS_MAX + 8;
	RdmadJob *jobs[RDMAD_WORK_THREADS_MAX + 8];
	const gint64 until_us = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

	for (guint i = 0; i < many; i++)
		jobs[i] = submit(f, &endless, NULL, 1, 0);
	while (rdmad_workers_threads(f->workers) < RDMAD_WORK_THREADS_MAX &&
	       g_get_monotonic_time() < until_us)
		rdmad_loop_turn(f->loop);
	g_assert_cmpuint(rdmad_workers_threads(f->workers), ==, RDMAD_WORK_THREADS_MAX);
	/* A queued job runs when a thread becomes free; surplus threads end. */
	f->wanted = 1;
	submit(f, &square, NULL, 3, 0);
	for (guint i = 0; i < many; i++)
		rdmad_job_cancel(jobs[i]);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->sum, ==, 9);
	while (rdmad_workers_threads(f->workers) > 4 && g_get_monotonic_time() < until_us)
		usleep(1000);
	g_assert_cmpuint(rdmad_workers_threads(f->workers), <=, 4);
}

static void test_jobs_are_counted_by_what_became_of_them(void)
{
	g_autoptr(RdmadStats) stats = rdmad_stats_new();
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	const RdmadJobClass *const classes[] = { &square, &failing, &endless, &quiet };
	Fixture f = { .loop = loop };

	rdmad_loop_set_stats(loop, stats);
	f.workers = rdmad_workers_new(loop, 4, NULL);
	rdmad_job_cancel(submit(&f, &endless, NULL, 2, 0));
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++) {
		f.wanted = i + 1;
		submit(&f, classes[i], NULL, 2, classes[i] == &endless ? 20 : 0);
		rdmad_loop_run(loop);
	}
	stats_expect(stats, "rdmad_work_jobs",
		     "endless,cancelled 1;square,ok 1;failing,error 1;endless,timeout 1;"
		     "quiet,ok 1;");
	g_clear_pointer(&f.workers, rdmad_workers_free);
	g_clear_error(&f.error);
}

static void test_a_late_job_is_still_timed(void)
{
	g_autoptr(RdmadStats) stats = rdmad_stats_new();
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	Fixture f = { .loop = loop, .wanted = 1 };

	rdmad_loop_set_stats(loop, stats);
	f.workers = rdmad_workers_new(loop, 4, NULL);
	submit(&f, &endless, NULL, 2, 20);
	rdmad_loop_run(loop);
	stats_expect(stats, "rdmad_work_job_duration_seconds", "");
	/* The job detects that it was cancelled, and reports it. */
	rdmad_loop_turn(loop);
	stats_expect(stats, "rdmad_work_job_duration_seconds", "endless 1;");
	g_clear_pointer(&f.workers, rdmad_workers_free);
	g_clear_error(&f.error);
}

/* Waits without running the loop. */
static void wait_for_workers(int n)
{
	const gint64 until_us = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

	while (g_atomic_int_get(&freed) < n && g_get_monotonic_time() < until_us)
		usleep(1000);
	g_assert_cmpint(g_atomic_int_get(&freed), >=, n);
}

static void wait_for_freed(Fixture *f, int n)
{
	const gint64 until_us = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

	while (g_atomic_int_get(&freed) < n && g_get_monotonic_time() < until_us) {
		rdmad_loop_turn(f->loop);
		usleep(1000);
	}
	g_assert_cmpint(g_atomic_int_get(&freed), ==, n);
}

static void test_no_error_is_no_failure(Fixture *f, gconstpointer data)
{
	f->wanted = 1;
	submit(f, &quiet, NULL, 1, 0);
	rdmad_loop_run(f->loop);
	g_assert_no_error(f->error);
}

static void test_inputs_are_freed_on_a_worker(Fixture *f, gconstpointer data)
{
	const RdmadJobClass *const classes[] = { &square, &failing, &quiet, &endless };

	f->wanted = G_N_ELEMENTS(classes);
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++)
		submit(f, classes[i], NULL, 2, classes[i] == &endless ? 20 : 0);
	/* The job may have run already; it has no result to free. */
	rdmad_job_cancel(submit(f, &quiet, NULL, 2, 0));
	rdmad_loop_run(f->loop);
	wait_for_freed(f, 5 + g_atomic_int_get(&begun));
	g_assert_cmpint(g_atomic_int_get(&freed_on_loop), ==, 0);
}

static void test_unused_results_are_freed_on_a_worker(Fixture *f, gconstpointer data)
{
	RdmadJob *jobs[2];

	/* Cancels one job while it runs, and one after it has finished. */
	jobs[0] = submit(f, &deaf, NULL, 2, 0);
	jobs[1] = submit(f, &square, NULL, 2, 0);
	wait_for_workers(1);
	usleep(1000);
	rdmad_job_cancel(jobs[0]);
	rdmad_job_cancel(jobs[1]);
	wait_for_freed(f, 4);
	g_assert_cmpint(g_atomic_int_get(&freed_on_loop), ==, 0);
}

static void test_a_job_that_only_frees_is_never_refused(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	while (rdmad_work_submit(f->workers, NULL, &endless, g_new0(int, 1), 0, f, &error))
		continue;
	g_atomic_int_set(&freed, 0);
	g_atomic_int_set(&freed_on_loop, 0);
	g_assert_nonnull(submit(f, &closing, NULL, 1, 0));
	g_assert_cmpint(g_atomic_int_get(&freed), ==, 0);
	g_clear_pointer(&f->workers, rdmad_workers_free);
	g_assert_cmpint(g_atomic_int_get(&freed), >, 1024);
	g_assert_cmpint(g_atomic_int_get(&freed_on_loop), ==, 0);
}

static void test_at_the_end_all_is_freed_on_a_worker(Fixture *f, gconstpointer data)
{
	submit(f, &square, NULL, 2, 0);
	wait_for_workers(1);
	usleep(20000); /* its result waits for the loop */
	for (int i = 0; i < 100; i++)
		submit(f, &closing, NULL, 1, 0);
	g_clear_pointer(&f->workers, rdmad_workers_free);
	g_assert_cmpint(g_atomic_int_get(&freed), ==, 102);
	g_assert_cmpint(g_atomic_int_get(&freed_on_loop), ==, 0);
}

#define TEST(name) UNIT_FIXTURE_TEST("/work/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(results_of_many_jobs_come_back_on_the_loop),
	TEST(a_failure_comes_with_its_error),
	TEST(at_the_deadline_the_loop_is_notified_and_the_job_cancelled),
	TEST(a_cancelled_job_is_never_reported),
	TEST(no_error_is_no_failure),
	TEST(inputs_are_freed_on_a_worker),
	TEST(unused_results_are_freed_on_a_worker),
	TEST(a_job_that_only_frees_is_never_refused),
	TEST(at_the_end_all_is_freed_on_a_worker),
	TEST(jobs_end_with_their_owner),
	TEST(a_full_queue_refuses_and_frees_the_input),
	TEST(no_thread_is_held_up_by_a_stuck_one),
	TEST(hanging_jobs_delay_no_others),
	TEST(threads_are_bounded_whatever_hangs),
	UNIT_TEST("/work/jobs_are_counted_by_what_became_of_them",
		  test_jobs_are_counted_by_what_became_of_them),
	UNIT_TEST("/work/a_late_job_is_still_timed", test_a_late_job_is_still_timed),
	{ 0 },
};
