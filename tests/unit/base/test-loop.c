/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "service/stats-private.h"

#include "../refusing-epoll.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadLoop *loop;
	RdmadEvent *ev;
	guint fired;
	int status;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_loop_free(f->loop);
}

static void count_timer(gpointer data)
{
	Fixture *f = data;

	f->fired++;
	rdmad_loop_stop(f->loop);
}

static void test_a_timer_fires_once_and_can_be_armed_again(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadEvent) timer = rdmad_loop_add_timer(f->loop, NULL, count_timer, f);

	g_assert_false(rdmad_event_armed(timer));
	rdmad_event_arm(timer, 0);
	g_assert_true(rdmad_event_armed(timer));
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 1);
	g_assert_false(rdmad_event_armed(timer));
	rdmad_event_arm(timer, 1);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 2);
}

static void test_an_earlier_time_stays(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadEvent) timer = rdmad_loop_add_timer(f->loop, NULL, count_timer, f);

	rdmad_event_arm_within(timer, 60000);
	rdmad_event_arm_within(timer, 1);
	rdmad_event_arm_within(timer, 60000);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 1);
	g_assert_false(rdmad_event_armed(timer));
}

static void free_own_event(gpointer data)
{
	Fixture *f = data;

	g_clear_pointer(&f->ev, rdmad_event_free);
	rdmad_loop_stop(f->loop);
}

static void test_an_event_may_be_freed_from_its_own_callback(Fixture *f, gconstpointer data)
{
	f->ev = rdmad_loop_add_timer(f->loop, NULL, free_own_event, f);
	rdmad_event_arm(f->ev, 0);
	rdmad_loop_run(f->loop);
	g_assert_null(f->ev);
}

static void read_byte(int fd, RdmadIo ready, gpointer data)
{
	Fixture *f = data;
	char byte;

	g_assert_cmpint(ready, ==, RDMAD_IO_READ);
	g_assert_cmpint(read(fd, &byte, 1), ==, 1);
	f->fired++;
	rdmad_loop_stop(f->loop);
}

static void test_io_is_reported_only_while_it_is_wanted(Fixture *f, gconstpointer data)
{
	int fds[2];
	RdmadEvent *io, *timer;

	g_assert_cmpint(pipe(fds), ==, 0);
	io = rdmad_loop_add_io(f->loop, NULL, fds[0], 0, read_byte, f, NULL);
	timer = rdmad_loop_add_timer(f->loop, NULL, count_timer, f);
	g_assert_cmpint(write(fds[1], "xy", 2), ==, 2);

	rdmad_event_arm(timer, 20);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 1); /* only the timer */

	rdmad_event_want(io, RDMAD_IO_READ);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 2);
	rdmad_event_free(io);
	rdmad_event_free(timer);
	close(fds[0]);
	close(fds[1]);
}

static void child_done(pid_t pid, int status, gpointer data)
{
	Fixture *f = data;

	f->status = status;
	rdmad_loop_stop(f->loop);
}

static void test_the_end_of_a_child_comes_with_its_status(Fixture *f, gconstpointer data)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
	char *const env[] = { NULL };
	g_autoptr(GError) error = NULL;
	pid_t pid;

	g_assert_cmpint(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, env), ==, 0);
	f->ev = rdmad_loop_add_child(f->loop, NULL, pid, child_done, f, &error);
	g_assert_no_error(error);
	rdmad_loop_run(f->loop);
	g_assert_true(WIFEXITED(f->status));
	g_assert_cmpint(WEXITSTATUS(f->status), ==, 7);
}

/* If the daemon was started with SIGCHLD ignored, the kernel reaps children, and their status is
 * lost. */
static void test_a_child_that_was_reaped_elsewhere_ends_too(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	int hold[2];
	pid_t pid;

	g_assert_cmpint(pipe(hold), ==, 0);
	signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (pid == 0) {
		char byte;

		close(hold[1]);
		_exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(hold[0]);
	f->ev = rdmad_loop_add_child(f->loop, NULL, pid, child_done, f, &error);
	g_assert_no_error(error);
	close(hold[1]);
	alarm(60);
	rdmad_loop_run(f->loop);
	alarm(0);
	signal(SIGCHLD, SIG_DFL);
	g_assert_cmpint(f->status, ==, -1);
}

static void test_who_is_no_child_is_not_watched(Fixture *f, gconstpointer data)
{
	const pid_t strangers[] = { getppid(), getpid(), 1 };

	for (gsize i = 0; i < G_N_ELEMENTS(strangers); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(
			rdmad_loop_add_child(f->loop, NULL, strangers[i], child_done, f, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	}
	g_assert_cmpuint(rdmad_loop_owned(f->loop, NULL), ==, 0);
}

static void test_what_a_module_leaves_behind_is_counted_and_freed(Fixture *f, gconstpointer data)
{
	RdmadEvent *mine = rdmad_loop_add_timer(f->loop, NULL, count_timer, f);

	for (int i = 0; i < 3; i++)
		rdmad_event_arm(rdmad_loop_add_timer(f->loop, SOME_MODULE, free_own_event, f), 0);
	g_assert_cmpuint(rdmad_loop_owned(f->loop, SOME_MODULE), ==, 3);
	g_assert_cmpuint(rdmad_loop_reap(f->loop, SOME_MODULE), ==, 3);
	g_assert_cmpuint(rdmad_loop_owned(f->loop, SOME_MODULE), ==, 0);
	rdmad_event_arm(mine, 10);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 1);
}

static void on_signal(int signum, gpointer data)
{
	Fixture *f = data;

	f->status = signum;
	rdmad_loop_stop(f->loop);
}

static void test_a_signal_arrives_on_the_loop(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadEvent) ev G_GNUC_UNUSED =
		rdmad_loop_add_signal(f->loop, SIGHUP, on_signal, f);

	raise(SIGHUP);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->status, ==, SIGHUP);
}

/* Replaces read() of libevent and the loop; fails once with this errno if it is not 0. */
static int read_error;

ssize_t read(int fd, void *to, size_t size)
{
	errno = read_error;
	read_error = 0;
	return errno ? -1 : syscall(SYS_read, fd, to, size);
}

static void test_a_signal_whose_read_fails_arrives_later(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadEvent) ev G_GNUC_UNUSED =
		rdmad_loop_add_signal(f->loop, SIGHUP, on_signal, f);

	raise(SIGHUP);
	read_error = EIO;
	rdmad_loop_run(f->loop);
	g_assert_cmpint(read_error, ==, 0);
	g_assert_cmpint(f->status, ==, SIGHUP);
}

static void test_a_signal_is_blocked_as_long_as_its_event_lives(Fixture *f, gconstpointer data)
{
	RdmadEvent *ev = rdmad_loop_add_signal(f->loop, SIGUSR1, on_signal, f);
	sigset_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	g_assert_true(sigismember(&mask, SIGUSR1));
	rdmad_event_free(ev);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	g_assert_false(sigismember(&mask, SIGUSR1));
}

typedef struct {
	double turns;
	guint64 observed;
	guint64 at_least_50ms;
} Counted;

static void read_counted(const RdmadStatClass *klass, const RdmadStatSeries *series, guint n,
			 gpointer data)
{
	Counted *counted = data;

	if (g_str_equal(klass->name, "rdmad_loop_turns") && n)
		counted->turns = series->value;
	if (!g_str_equal(klass->name, "rdmad_loop_latency_seconds") || !n)
		return;
	counted->observed = series->count;
	for (guint i = 1; klass->bounds[i - 1] != 0; i++)
		if (klass->bounds[i - 1] >= 0.05)
			counted->at_least_50ms += series->buckets[i];
}

static void sleep_long(gpointer data)
{
	g_usleep(80000);
	if (data)
		rdmad_loop_stop(data);
}

/* Becomes due during this long turn, and is served in the next one. */
static void delay_timer(gpointer behind)
{
	rdmad_event_arm(behind, 10);
	sleep_long(NULL);
}

static void test_turns_are_timed_and_so_are_late_timers(void)
{
	g_autoptr(RdmadStats) stats = rdmad_stats_new();
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	Fixture f = { .loop = loop };
	RdmadEvent *behind = rdmad_loop_add_timer(loop, NULL, count_timer, &f);
	RdmadEvent *slow = rdmad_loop_add_timer(loop, NULL, delay_timer, behind);
	Counted counted = { 0 };

	rdmad_loop_set_stats(loop, stats);
	rdmad_event_arm(slow, 1);
	rdmad_loop_run(loop);
	rdmad_stats_foreach(stats, read_counted, &counted);
	g_assert_cmpfloat(counted.turns, ==, 2);
	g_assert_cmpuint(counted.observed, ==, 2);
	g_assert_cmpuint(counted.at_least_50ms, ==, 2);
}

static gboolean turn_is_short(void)
{
	g_autoptr(RdmadStats) stats = rdmad_stats_new();
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	Fixture f = { .loop = loop };
	RdmadEvent *timer = rdmad_loop_add_timer(loop, NULL, count_timer, &f);
	Counted counted = { 0 };

	rdmad_loop_set_stats(loop, stats);
	rdmad_event_arm(timer, 100);
	rdmad_loop_run(loop);
	rdmad_stats_foreach(stats, read_counted, &counted);
	g_assert_cmpuint(counted.observed, ==, 1);
	return counted.at_least_50ms == 0;
}

/* The wait of the loop for the timer does not count.  A busy machine may wake the loop late, but
 * not each time. */
static void test_a_short_turn_in_time_is_no_latency(void)
{
	gboolean is_short = FALSE;

	for (guint tries = 0; tries < 50 && !is_short; tries++)
		is_short = turn_is_short();
	g_assert_true(is_short);
}

static void test_a_family_of_the_core_is_made_once(void)
{
	static const RdmadStatClass klass = { .name = "test_once", .help = "Once" };
	g_autoptr(RdmadStats) stats = rdmad_stats_new();
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	RdmadStat *stat;

	g_assert_null(rdmad_loop_stat(loop, &klass));
	rdmad_loop_set_stats(loop, stats);
	stat = rdmad_loop_stat(loop, &klass);
	g_assert_nonnull(stat);
	g_assert_true(rdmad_loop_stat(loop, &klass) == stat);
}

static void test_a_loop_without_epoll_is_none(void)
{
	refuse.create = EMFILE;
	g_assert_null(rdmad_loop_new());
	g_assert_cmpint(errno, ==, EMFILE);
	refuse.create = 0;
}

static void never(int fd, RdmadIo ready, gpointer data)
{
	g_assert_not_reached();
}

static void test_what_epoll_refuses_fails_and_nothing_else(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadEvent) timer = rdmad_loop_add_timer(f->loop, NULL, count_timer, f);
	g_autoptr(GError) error = NULL;
	rdmad_autofd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	g_assert_null(rdmad_loop_add_io(f->loop, NULL, fd, RDMAD_IO_READ, never, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, g_strerror(EPERM)));
	g_assert_cmpuint(rdmad_loop_owned(f->loop, NULL), ==, 1);
	rdmad_event_arm(timer, 1);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 1);
}

static void read_and_stop(int fd, RdmadIo ready, gpointer data)
{
	Fixture *f = data;
	char byte;

	g_assert_cmpint(read(fd, &byte, 1), ==, 1);
	f->fired++;
	rdmad_loop_stop(f->loop);
}

static void test_what_was_refused_can_be_asked_for_again(Fixture *f, gconstpointer data)
{
	int fds[2];
	RdmadEvent *io;

	g_assert_cmpint(pipe2(fds, O_CLOEXEC | O_NONBLOCK), ==, 0);
	io = rdmad_loop_add_io(f->loop, NULL, fds[0], 0, read_and_stop, f, NULL);
	refuse.ctl = ENOMEM;
	g_assert_false(rdmad_event_want(io, RDMAD_IO_READ));
	g_assert_cmpint(errno, ==, ENOMEM);
	refuse.ctl = 0;
	g_assert_true(rdmad_event_want(io, RDMAD_IO_READ));
	g_assert_cmpint(write(fds[1], "x", 1), ==, 1);
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->fired, ==, 1);
	rdmad_event_free(io);
	close(fds[0]);
	close(fds[1]);
}

static void test_children_and_signals_are_refused_too(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	refuse.ctl = ENOSPC;
	g_assert_null(rdmad_loop_add_child(f->loop, NULL, pid, child_done, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_null(rdmad_loop_add_signal(f->loop, SIGUSR2, on_signal, f));
	refuse.ctl = 0;
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

/* Pipes with one byte each, and the order in which they are served. */
typedef struct {
	RdmadLoop *loop;
	int fds[3][2];
	RdmadEvent *io[3];
	GString *order;
} Pipes;

static void pipe_served(int fd, RdmadIo ready, gpointer data)
{
	Pipes *p = data;
	char name;

	g_assert_cmpint(read(fd, &name, 1), ==, 1);
	/* An event of normal priority arrives while the first one of low priority is served. */
	if (p->order->len == 0)
		g_assert_cmpint(write(p->fds[2][1], "k", 1), ==, 1);
	g_string_append_c(p->order, name);
	if (p->order->len == 3)
		rdmad_loop_stop(p->loop);
}

static void test_low_events_are_served_one_a_turn_and_after_all_others(void)
{
	g_autoptr(RdmadStats) stats = rdmad_stats_new();
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	Pipes p = { .loop = loop, .order = g_string_new(NULL) };

	rdmad_loop_set_stats(loop, stats);
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpint(pipe2(p.fds[i], O_CLOEXEC | O_NONBLOCK), ==, 0);
		p.io[i] = rdmad_loop_add_io(loop, NULL, p.fds[i][0], RDMAD_IO_READ, pipe_served, &p,
					    NULL);
		if (i < 2) {
			rdmad_event_set_low(p.io[i]);
			g_assert_cmpint(write(p.fds[i][1], "p", 1), ==, 1);
		}
	}
	/* Changing the condition of an event keeps its priority. */
	g_assert_true(rdmad_event_want(p.io[0], RDMAD_IO_READ | RDMAD_IO_WRITE));
	g_assert_true(rdmad_event_want(p.io[0], RDMAD_IO_READ));
	rdmad_loop_run(loop);
	g_assert_cmpstr(p.order->str, ==, "pkp");
	g_string_free(p.order, TRUE);
	for (guint i = 0; i < 3; i++) {
		rdmad_event_free(p.io[i]);
		close(p.fds[i][0]);
		close(p.fds[i][1]);
	}
}

/* Events that are ready in one turn, and the work that they defer to its end. */
typedef struct {
	RdmadLoop *loop;
	RdmadEvent *end, *next;
	GString *order;
} Turn;

static void turn_io(int fd, RdmadIo ready, gpointer data)
{
	Turn *turn = data;

	g_string_append_c(turn->order, 'r');
	rdmad_event_arm(turn->next, 0);
	rdmad_event_arm_for_turn(turn->end);
	g_assert_true(rdmad_event_armed(turn->end));
	g_assert_cmpint(read(fd, &(char){ 0 }, 1), ==, 1);
}

static void turn_end(gpointer data)
{
	g_string_append_c(((Turn *)data)->order, 'e');
}

static void turn_next(gpointer data)
{
	Turn *turn = data;

	g_string_append_c(turn->order, 'n');
	rdmad_loop_stop(turn->loop);
}

static void test_the_end_of_a_turn_comes_once_after_all_that_is_ready(void)
{
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autoptr(GString) order = g_string_new(NULL);
	Turn turn = { .loop = loop, .order = order };
	RdmadEvent *io[3];
	int fds[3][2];

	turn.end = rdmad_loop_add_timer(loop, NULL, turn_end, &turn);
	turn.next = rdmad_loop_add_timer(loop, NULL, turn_next, &turn);
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpint(pipe2(fds[i], O_CLOEXEC), ==, 0);
		g_assert_cmpint(write(fds[i][1], "x", 1), ==, 1);
		io[i] = rdmad_loop_add_io(loop, NULL, fds[i][0], RDMAD_IO_READ, turn_io, &turn,
					  NULL);
	}
	rdmad_loop_run(loop);
	g_assert_cmpstr(order->str, ==, "rrren");
	g_assert_false(rdmad_event_armed(turn.end));
	/* A disarmed or freed event does not fire. */
	rdmad_event_arm_for_turn(turn.end);
	rdmad_event_disarm(turn.end);
	rdmad_event_arm(turn.next, 0);
	rdmad_event_arm_for_turn(turn.end);
	rdmad_event_free(turn.end);
	rdmad_loop_run(loop);
	g_assert_cmpstr(order->str, ==, "rrrenn");
	for (guint i = 0; i < 3; i++) {
		rdmad_event_free(io[i]);
		close(fds[i][0]);
		close(fds[i][1]);
	}
	rdmad_event_free(turn.next);
}

#define TEST(name) UNIT_FIXTURE_TEST("/loop/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_timer_fires_once_and_can_be_armed_again),
	TEST(an_earlier_time_stays),
	TEST(an_event_may_be_freed_from_its_own_callback),
	TEST(io_is_reported_only_while_it_is_wanted),
	TEST(the_end_of_a_child_comes_with_its_status),
	TEST(a_child_that_was_reaped_elsewhere_ends_too),
	TEST(who_is_no_child_is_not_watched),
	TEST(what_a_module_leaves_behind_is_counted_and_freed),
	TEST(a_signal_arrives_on_the_loop),
	TEST(a_signal_whose_read_fails_arrives_later),
	TEST(a_signal_is_blocked_as_long_as_its_event_lives),
	TEST(what_epoll_refuses_fails_and_nothing_else),
	TEST(what_was_refused_can_be_asked_for_again),
	TEST(children_and_signals_are_refused_too),
	UNIT_TEST("/loop/a_loop_without_epoll_is_none", test_a_loop_without_epoll_is_none),
	UNIT_TEST("/loop/low_events_are_served_one_a_turn_and_after_all_others",
		  test_low_events_are_served_one_a_turn_and_after_all_others),
	UNIT_TEST("/loop/the_end_of_a_turn_comes_once_after_all_that_is_ready",
		  test_the_end_of_a_turn_comes_once_after_all_that_is_ready),
	UNIT_TEST("/loop/turns_are_timed_and_so_are_late_timers",
		  test_turns_are_timed_and_so_are_late_timers),
	UNIT_TEST("/loop/a_short_turn_in_time_is_no_latency",
		  test_a_short_turn_in_time_is_no_latency),
	UNIT_TEST("/loop/a_family_of_the_core_is_made_once",
		  test_a_family_of_the_core_is_made_once),
	{ 0 },
};
