/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <rdmad/child.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadLoop *loop;
	guint done;
	int exit_status, signal, code; /* code of the error; -1: none */
	gboolean timed_out, out_of_memory;
	char *output, *errors;
	gsize output_size;
	guint64 output_lost;
	guint born;
	gboolean still; /* births fail */
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_assert_cmpuint(rdmad_loop_owned(f->loop, SOME_MODULE), ==, 0);
	rdmad_loop_free(f->loop);
	g_free(f->output);
	g_free(f->errors);
	/* No child is left, not even a zombie. */
	g_assert_cmpint(waitpid(-1, NULL, 0), ==, -1);
	g_assert_cmpint(errno, ==, ECHILD);
}

static void on_done(const RdmadChildResult *result, const GError *error, gpointer data)
{
	Fixture *f = data;

	g_assert_true((result == NULL) != (error == NULL));
	f->done++;
	f->code = error ? error->code : -1;
	if (result) {
		f->exit_status = result->exit_status;
		f->signal = result->signal;
		f->timed_out = result->timed_out;
		f->out_of_memory = result->out_of_memory;
		g_free(f->output);
		g_free(f->errors);
		f->output = g_strdup(result->output.bytes);
		f->output_size = result->output.size;
		f->output_lost = result->output.lost;
		f->errors = g_strdup(result->errors.bytes);
	}
	rdmad_loop_stop(f->loop);
}

static RdmadChild *start(Fixture *f, const char *script, RdmadChildSpec spec)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	g_autoptr(GError) error = NULL;
	RdmadChild *child;

	spec.argv = argv;
	child = rdmad_child_start(f->loop, SOME_MODULE, &spec, on_done, f, &error);
	g_assert_no_error(error);
	return child;
}

static void run(Fixture *f, const char *script, RdmadChildSpec spec)
{
	g_assert_nonnull(start(f, script, spec));
	rdmad_loop_run(f->loop);
	g_assert_cmpuint(f->done, ==, 1);
}

static void test_status_and_both_streams_come_back(Fixture *f, gconstpointer data)
{
	run(f, "echo out; echo err >&2; exit 7", (RdmadChildSpec){ 0 });
	g_assert_cmpint(f->exit_status, ==, 7);
	g_assert_cmpint(f->signal, ==, 0);
	g_assert_false(f->timed_out);
	g_assert_cmpstr(f->output, ==, "out\n");
	g_assert_cmpstr(f->errors, ==, "err\n");
}

static void test_a_signal_is_no_exit_status(Fixture *f, gconstpointer data)
{
	run(f, "kill -USR1 $$", (RdmadChildSpec){ 0 });
	g_assert_cmpint(f->exit_status, ==, -1);
	g_assert_cmpint(f->signal, ==, SIGUSR1);
}

static void test_input_larger_than_a_pipe_arrives_whole(Fixture *f, gconstpointer data)
{
	g_autofree char *input = g_strnfill(300000, 'i');

	run(f, "wc -c", (RdmadChildSpec){ .input = input, .input_size = 300000 });
	g_assert_cmpstr(g_strstrip(f->output), ==, "300000");
}

static void test_unread_input_blocks_nothing(Fixture *f, gconstpointer data)
{
	g_autofree char *input = g_strnfill(300000, 'i');

	run(f, "exit 0", (RdmadChildSpec){ .input = input, .input_size = 300000 });
	g_assert_cmpint(f->exit_status, ==, 0);
}

static void test_the_end_of_long_output_is_kept(Fixture *f, gconstpointer data)
{
	run(f, "head -c 500000 /dev/zero | tr '\\0' x; printf 'the end'",
	    (RdmadChildSpec){ .output_max = 1000 });
	g_assert_cmpuint(f->output_size, ==, 1000);
	g_assert_cmpuint(f->output_lost, ==, 500007 - 1000);
	g_assert_true(g_str_has_suffix(f->output, "xthe end"));
}

static void test_nothing_is_inherited(Fixture *f, gconstpointer data)
{
	static const char *const envp[] = { "ONLY=this", NULL };
	/* Left open across exec deliberately. */
	rdmad_autofd int open_fd G_GNUC_UNUSED = open("/dev/zero", O_RDONLY);

	g_setenv("RDMAD_TEST_SECRET", "x", TRUE);
	signal(SIGPIPE, SIG_IGN);
	run(f,
	    "PATH=/usr/bin:/bin; ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status;"
	    "grep SigBlk /proc/self/status; echo $ONLY $RDMAD_TEST_SECRET",
	    (RdmadChildSpec){ .envp = envp });
	signal(SIGPIPE, SIG_DFL);
	/* Three, and the directory that ls opens. */
	g_assert_cmpstr(f->output, ==,
			"4\nSigIgn:\t0000000000000000\nSigBlk:\t0000000000000000\nthis\n");
}

/* A busy machine must have started the shell by then. */
#define DEADLINE_MS 1500

static void test_the_deadline_ends_the_whole_group(Fixture *f, gconstpointer data)
{
	/* The grandchild keeps the stream open. */
	run(f, "sleep 1000 & echo $!; wait", (RdmadChildSpec){ .deadline_ms = DEADLINE_MS });
	g_assert_true(f->timed_out);
	g_assert_cmpint(f->signal, ==, SIGTERM);
	for (guint i = 0; kill((pid_t)atoi(f->output), 0) == 0 && i < 1000; i++)
		g_usleep(10000); /* another process reaps it */
	g_assert_cmpint(kill((pid_t)atoi(f->output), 0), ==, -1);
}

static void test_what_ignores_sigterm_is_killed(Fixture *f, gconstpointer data)
{
	run(f, "trap '' TERM; while :; do sleep 0.01; done",
	    (RdmadChildSpec){ .deadline_ms = DEADLINE_MS, .grace_ms = 100 });
	g_assert_true(f->timed_out);
	g_assert_cmpint(f->signal, ==, SIGKILL);
}

static void test_what_outlives_the_child_is_killed(Fixture *f, gconstpointer data)
{
	run(f, "sleep 1000 & echo $!", (RdmadChildSpec){ 0 });
	g_assert_cmpint(f->exit_status, ==, 0);
	for (guint i = 0; kill((pid_t)atoi(f->output), 0) == 0 && i < 1000; i++)
		g_usleep(10000);
	g_assert_cmpint(kill((pid_t)atoi(f->output), 0), ==, -1);
}

static void test_an_earlier_end_can_be_asked_for(Fixture *f, gconstpointer data)
{
	RdmadChild *child = start(f, "exec sleep 1000", (RdmadChildSpec){ .deadline_ms = 60000 });

	rdmad_child_terminate(child, 0);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->signal, ==, SIGTERM);
	g_assert_false(f->timed_out);
}

static void test_an_end_that_is_asked_for_may_come_by_itself(Fixture *f, gconstpointer data)
{
	RdmadChild *child = start(f, "sleep 0.2; exit 3", (RdmadChildSpec){ 0 });

	rdmad_child_terminate(child, 60000);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->exit_status, ==, 3);
	g_assert_false(f->timed_out);
}

static void test_patience_ends_before_the_deadline(Fixture *f, gconstpointer data)
{
	RdmadChild *child = start(f, "exec sleep 1000", (RdmadChildSpec){ .deadline_ms = 60000 });

	rdmad_child_terminate(child, 10);
	rdmad_loop_run(f->loop);
	g_assert_cmpint(f->signal, ==, SIGTERM);
	g_assert_true(f->timed_out);
}

static void test_a_program_that_cannot_run_is_an_error(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *program;
		int code;
	} cases[] = {
		{ "/no/such/program", RDMAD_ERROR_NOT_FOUND },
		{ "/etc/passwd", RDMAD_ERROR_FAILED },
		{ "/tmp", RDMAD_ERROR_FAILED },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *const argv[] = { cases[i].program, NULL };
		const RdmadChildSpec spec = { .argv = argv };

		f->done = 0;
		g_assert_nonnull(rdmad_child_start(f->loop, SOME_MODULE, &spec, on_done, f, NULL));
		rdmad_loop_run(f->loop);
		g_assert_cmpuint(f->done, ==, 1);
		g_assert_cmpint(f->code, ==, cases[i].code);
	}
}

static void test_a_descriptor_that_is_no_namespace_is_an_error(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	run(f, "echo never", (RdmadChildSpec){ .netns = fd });
	g_assert_cmpint(f->code, ==, RDMAD_ERROR_FAILED);
}

static void test_a_child_runs_in_the_namespace_that_it_was_given(Fixture *f, gconstpointer data)
{
	rdmad_autofd int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	rdmad_autofd int other = -1;
	g_autofree char *expected = NULL;
	struct stat st;

	if (unshare(CLONE_NEWNET) < 0) {
		g_test_skip("network namespaces need root");
		return;
	}
	other = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	g_assert_cmpint(setns(own, CLONE_NEWNET), ==, 0);
	g_assert_cmpint(fstat(other, &st), ==, 0);
	expected = g_strdup_printf("%lu\n", (gulong)st.st_ino);
	run(f, "stat -L -c %i /proc/self/ns/net", (RdmadChildSpec){ .netns = other });
	g_assert_cmpstr(f->output, ==, expected);
}

static void stop_loop(gpointer data)
{
	rdmad_loop_stop(data);
}

#define CGROUP "rdmad-test-child"

/* setsid() leaves the group; the end of the process closes the FIFO. */
static void test_nothing_leaves_a_cgroup(Fixture *f, gconstpointer data)
{
	g_autofree char *dir = g_dir_make_tmp("rdmad-test-XXXXXX", NULL);
	g_autofree char *fifo = g_build_filename(dir, "fifo", NULL);
	g_autofree char *script = g_strdup_printf("exec 9<>%s; setsid sh -c 'sleep 1000' "
						  ">/dev/null 2>&1 9>%s & cat /proc/self/cgroup",
						  fifo, fifo);
	rdmad_autofd int reader = -1;
	char byte;

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	run(f, script, (RdmadChildSpec){ .cgroup = CGROUP });
	if (strstr(f->output, "/" CGROUP)) {
		const char *memory = strstr(f->output, ":memory:");

		/* The memory controller of version 1 has a hierarchy of its own. */
		if (memory)
			g_assert_nonnull(strstr(memory, "/" CGROUP "\n"));
		g_assert_cmpint(fcntl(reader, F_SETFL, 0), ==, 0);
		g_assert_cmpint(read(reader, &byte, 1), ==,
				0); /* until the last writer has ended */
		g_assert_false(
			g_file_test("/proc/1/root/sys/fs/cgroup/" CGROUP, G_FILE_TEST_EXISTS));
	} else {
		g_test_skip("no cgroup v2 tree that this test may change");
	}
	g_remove(fifo);
	g_rmdir(dir);
}

#define MEMORY                                                                                     \
	"m=$(sed -n 's,^[0-9]*:memory:,/sys/fs/cgroup/memory,p' /proc/self/cgroup); "              \
	"v=/sys/fs/cgroup$(sed -n 's,^0::,,p' /proc/self/cgroup); "                                \
	"if [ -n \"$m\" ]; then echo 32M >$m/memory.limit_in_bytes; else echo 32M "                \
	">$v/memory.max; fi || exit 77; "

/* The shell reports that the kernel has killed its command; a signal alone does not mean that
 * memory ran out. */
static void test_a_lack_of_memory_is_told_from_other_ends(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *script;
		gboolean out_of_memory;
	} cases[] = {
		{ MEMORY "dd if=/dev/zero of=/dev/null bs=150M count=1; exit $?", TRUE },
		{ MEMORY "kill -9 $$", FALSE },
		{ MEMORY "exit 137", FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		run(f, "cat /proc/self/cgroup", (RdmadChildSpec){ .cgroup = CGROUP });
		if (!strstr(f->output, "/" CGROUP)) {
			g_test_skip("no cgroup that this test may change");
			return;
		}
		f->done = 0;
		run(f, cases[i].script, (RdmadChildSpec){ .cgroup = CGROUP });
		if (f->exit_status == 77) {
			g_test_skip("no memory controller in the child's cgroup");
			return;
		}
		g_assert_cmpint(f->out_of_memory, ==, cases[i].out_of_memory);
		f->done = 0;
	}
}

static void test_a_child_on_the_host_has_the_namespaces_of_pid_1(Fixture *f, gconstpointer data)
{
	g_autofree char *host = g_file_read_link("/proc/1/ns/mnt", NULL);

	if (!host || geteuid() != 0) {
		g_test_skip("PID 1 cannot be looked at");
		return;
	}
	run(f, "readlink /proc/self/ns/mnt", (RdmadChildSpec){ .on_host = TRUE });
	if (f->done && f->output)
		g_assert_cmpstr(g_strstrip(f->output), ==, host);
}

static void test_a_cancelled_child_is_not_reported(Fixture *f, gconstpointer data)
{
	RdmadChild *child = start(f, "exec sleep 1000", (RdmadChildSpec){ 0 });
	const pid_t pid = rdmad_child_pid(child);
	g_autoptr(RdmadEvent) timer = rdmad_loop_add_timer(f->loop, NULL, stop_loop, f->loop);

	rdmad_child_cancel(child);
	for (guint i = 0; kill(pid, 0) == 0 && i < 1000; i++) {
		rdmad_event_arm(timer, 10);
		rdmad_loop_run(f->loop);
	}
	g_assert_cmpint(kill(pid, 0), ==, -1);
	g_assert_cmpuint(f->done, ==, 0);
}

static void test_a_child_goes_with_its_owner(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadEvent) timer = rdmad_loop_add_timer(f->loop, NULL, stop_loop, f->loop);
	const pid_t pid =
		rdmad_child_pid(start(f, "exec sleep 1000", (RdmadChildSpec){ .deadline_ms = 1 }));

	g_assert_cmpuint(rdmad_loop_reap(f->loop, SOME_MODULE), ==, 1);
	for (guint i = 0; kill(pid, 0) == 0 && i < 1000; i++) {
		rdmad_event_arm(timer, 10);
		rdmad_loop_run(f->loop);
	}
	g_assert_cmpuint(f->done, ==, 0);
}

static void test_many_at_once_leave_no_descriptor(Fixture *f, gconstpointer data)
{
	const guint before = count_descriptors();

	f->done = 0;
	for (guint i = 0; i < 50; i++)
		g_assert_nonnull(start(f, "echo x", (RdmadChildSpec){ 0 }));
	while (f->done < 50) {
		g_clear_pointer(&f->output, g_free);
		g_clear_pointer(&f->errors, g_free);
		rdmad_loop_turn(f->loop);
	}
	g_assert_cmpuint(count_descriptors(), ==, before);
}

static gboolean note_birth(pid_t pid, gpointer data, GError **error)
{
	Fixture *f = data;
	g_autofree char *path = g_strdup_printf("/proc/%d/exe", (int)pid);
	g_autofree char *program = g_file_read_link(path, NULL);
	g_autofree char *own = g_file_read_link("/proc/self/exe", NULL);

	/* The program must not run before, however long this takes. */
	g_usleep(20000);
	g_assert_cmpstr(program, ==, own);
	f->born++;
	return !f->still ||
	       rdmad_error_errno(error, ENOSPC, "cannot write down process %d", (int)pid);
}

static void test_a_child_waits_until_its_birth_was_noted(Fixture *f, gconstpointer data)
{
	run(f, "echo out", (RdmadChildSpec){ .born = note_birth });
	g_assert_cmpuint(f->born, ==, 1);
	g_assert_cmpstr(f->output, ==, "out\n");
}

static void test_a_child_that_is_not_noted_never_runs(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "rdmad-child-ran", NULL);
	const char *const argv[] = { "/bin/touch", path, NULL };
	const RdmadChildSpec spec = { .argv = argv, .born = note_birth };
	g_autoptr(GError) error = NULL;

	f->still = TRUE;
	g_assert_null(rdmad_child_start(f->loop, SOME_MODULE, &spec, on_done, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_cmpuint(f->born, ==, 1);
	g_assert_cmpuint(f->done, ==, 0);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

#define TEST(name) UNIT_FIXTURE_TEST("/child/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(status_and_both_streams_come_back),
	TEST(a_signal_is_no_exit_status),
	TEST(input_larger_than_a_pipe_arrives_whole),
	TEST(unread_input_blocks_nothing),
	TEST(the_end_of_long_output_is_kept),
	TEST(nothing_is_inherited),
	TEST(the_deadline_ends_the_whole_group),
	TEST(what_ignores_sigterm_is_killed),
	TEST(what_outlives_the_child_is_killed),
	TEST(an_earlier_end_can_be_asked_for),
	TEST(an_end_that_is_asked_for_may_come_by_itself),
	TEST(patience_ends_before_the_deadline),
	TEST(a_program_that_cannot_run_is_an_error),
	TEST(a_descriptor_that_is_no_namespace_is_an_error),
	TEST(a_child_runs_in_the_namespace_that_it_was_given),
	TEST(nothing_leaves_a_cgroup),
	TEST(a_lack_of_memory_is_told_from_other_ends),
	TEST(a_child_on_the_host_has_the_namespaces_of_pid_1),
	TEST(a_cancelled_child_is_not_reported),
	TEST(a_child_goes_with_its_owner),
	TEST(a_child_waits_until_its_birth_was_noted),
	TEST(a_child_that_is_not_noted_never_runs),
	TEST(many_at_once_leave_no_descriptor),
	{ 0 },
};
