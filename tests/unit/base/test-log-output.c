/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/log-output.h"
#include "../support/unit.h"

static const RdmadLogRecord sample = { 0, RDMAD_LOG_INFO, "t", "hello", { NULL } };

#define SAMPLE_TEXT "1970-01-01T00:00:00.000Z info    t: hello\n"

typedef struct {
	int in, out; /* ends of a pipe */
	char *dir, *socket_path;
	int journal;
	RdmadLogOutput output;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fds[2];

	g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
	f->in = fds[1];
	f->out = fds[0];
	g_assert_cmpint(fcntl(f->out, F_SETFL, O_NONBLOCK), ==, 0);
	f->dir = g_dir_make_tmp("rdmad-log-XXXXXX", NULL);
	f->socket_path = g_build_filename(f->dir, "socket", NULL);
	g_strlcpy(address.sun_path, f->socket_path, sizeof(address.sun_path));
	f->journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	g_assert_cmpint(bind(f->journal, (struct sockaddr *)&address, sizeof(address)), ==, 0);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_log_output_clear(&f->output);
	rdmad_clear_fd(&f->in);
	rdmad_clear_fd(&f->out);
	rdmad_clear_fd(&f->journal);
	g_remove(f->socket_path);
	g_remove(f->dir);
	g_free(f->socket_path);
	g_free(f->dir);
}

/* Returns the $JOURNAL_STREAM that names this descriptor. */
static char *stream_of(int fd)
{
	struct stat st;

	g_assert_cmpint(fstat(fd, &st), ==, 0);
	return g_strdup_printf("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, (guint64)st.st_dev,
			       (guint64)st.st_ino);
}

static void assert_read(int fd, const char *expected)
{
	char text[16384] = "";
	const ssize_t got = read(fd, text, sizeof(text) - 1);

	text[MAX(got, 0)] = '\0';
	g_assert_cmpstr(text, ==, expected);
}

static void test_auto_is_text_where_the_journal_is_not(Fixture *f, gconstpointer data)
{
	static const char *const streams[] = { NULL, "", "x", "1", "1:2", "-1:-1", "1:2:3" };

	for (gsize i = 0; i < G_N_ELEMENTS(streams); i++) {
		rdmad_log_output_init(&f->output, RDMAD_LOG_AUTO, f->in, f->socket_path,
				      streams[i]);
		g_assert_cmpint(f->output.format, ==, RDMAD_LOG_TEXT);
		rdmad_log_output_write(&f->output, &sample);
		assert_read(f->out, SAMPLE_TEXT);
	}
}

static void test_auto_is_the_journal_where_stderr_is_it(Fixture *f, gconstpointer data)
{
	g_autofree char *stream = stream_of(f->in);

	rdmad_log_output_init(&f->output, RDMAD_LOG_AUTO, f->in, f->socket_path, stream);
	rdmad_log_output_write(&f->output, &sample);
	assert_read(f->journal,
		    "PRIORITY=6\nSYSLOG_IDENTIFIER=rdmad\nRDMAD_TOPIC=t\nMESSAGE=hello\n");
	assert_read(f->out, "");
}

static void test_without_its_socket_the_journal_is_written_to_as_a_stream(Fixture *f,
									  gconstpointer data)
{
	g_autofree char *stream = stream_of(f->in);

	rdmad_log_output_init(&f->output, RDMAD_LOG_AUTO, f->in, f->socket_path, stream);
	g_remove(f->socket_path);
	rdmad_log_output_write(&f->output, &sample);
	assert_read(f->out, "<6>t: hello\n");
}

static void test_a_journal_that_does_not_read_is_not_waited_for(Fixture *f, gconstpointer data)
{
	char text[16384];

	rdmad_log_output_init(&f->output, RDMAD_LOG_JOURNAL, f->in, f->socket_path, NULL);
	for (int i = 0; i < 2000; i++) {
		rdmad_log_output_write(&f->output, &sample);
		if (read(f->out, text, sizeof(text)) > 0)
			return; /* written to the descriptor instead */
	}
	g_assert_not_reached();
}

static void test_json_goes_to_the_descriptor_as_it_is(Fixture *f, gconstpointer data)
{
	g_autofree char *stream = stream_of(f->in);

	rdmad_log_output_init(&f->output, RDMAD_LOG_JSON, f->in, f->socket_path, stream);
	rdmad_log_output_write(&f->output, &sample);
	assert_read(f->out, "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"info\",\"topic\":"
			    "\"t\",\"message\":\"hello\"}\n");
}

static guint drain(int fd, GString *all)
{
	char text[4096];
	ssize_t got;

	while ((got = read(fd, text, sizeof(text))) > 0)
		g_string_append_len(all, text, got);
	return (guint)all->len;
}

static void
test_a_blocked_reader_costs_one_wait_and_gets_the_number_of_lost_lines(Fixture *f,
								       gconstpointer data)
{
	g_autoptr(GString) before = g_string_new(NULL), after = g_string_new(NULL);
	g_autofree char *told = NULL;
	gint64 start;
	guint lost;

	rdmad_log_output_init(&f->output, RDMAD_LOG_TEXT, f->in, NULL, NULL);
	start = g_get_monotonic_time();
	for (int i = 0; i < 5000; i++)
		rdmad_log_output_write(&f->output, &sample);
	/* Waiting for each line would take minutes. */
	g_assert_cmpint(g_get_monotonic_time() - start, <, 20 * G_USEC_PER_SEC);
	lost = f->output.lost;
	g_assert_cmpuint(lost, >, 0);
	drain(f->out, before);

	rdmad_log_output_write(&f->output, &sample);
	drain(f->out, after);
	told = g_strdup_printf("warning log: %u lines were lost because the log was not read\n",
			       lost);
	g_assert_nonnull(strstr(after->str, told));
	g_assert_true(g_str_has_suffix(after->str, "\n" SAMPLE_TEXT));
	g_assert_cmpuint(f->output.lost, ==, 0);
	/* All lost lines were counted. */
	g_assert_cmpuint(before->len, ==, (5000 - lost) * strlen(SAMPLE_TEXT));
}

static void test_a_torn_line_ends_before_the_next(Fixture *f, gconstpointer data)
{
	g_autofree char *big = g_strnfill(6000, 'x');
	const RdmadLogRecord record = { 0, RDMAD_LOG_INFO, "t", big, { NULL } };
	g_autoptr(GString) all = g_string_new(NULL);

	rdmad_log_output_init(&f->output, RDMAD_LOG_TEXT, f->in, NULL, NULL);
	g_assert_cmpint(fcntl(f->in, F_SETPIPE_SZ, 4096), ==, 4096);
	rdmad_log_output_write(&f->output, &record);
	g_assert_true(f->output.torn);
	drain(f->out, all);
	g_string_truncate(all, 0);
	rdmad_log_output_write(&f->output, &sample);
	drain(f->out, all);
	g_assert_cmpint(all->str[0], ==, '\n');
	g_assert_false(f->output.torn);
}

static void test_a_closed_reader_is_no_harm(Fixture *f, gconstpointer data)
{
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
	close(fds[0]);
	rdmad_log_output_init(&f->output, RDMAD_LOG_TEXT, fds[1], NULL, NULL);
	for (int i = 0; i < 10; i++)
		rdmad_log_output_write(&f->output, &sample);
	close(fds[1]);
	rdmad_log_output_write(&f->output, &sample);
	g_assert_cmpuint(f->output.lost, ==, 11);
}

/* The caller's errno must not be taken for that of the write. */
static void test_an_old_errno_is_no_reason_to_try_for_ever(Fixture *f, gconstpointer data)
{
	alarm(60);
	rdmad_log_output_init(&f->output, RDMAD_LOG_TEXT, f->in, NULL, NULL);
	rdmad_clear_fd(&f->in);
	errno = EINTR;
	rdmad_log_output_write(&f->output, &sample);
	g_assert_cmpuint(f->output.lost, ==, 1);
	alarm(0);
}

static void test_a_socket_is_written_to_as_well(Fixture *f, gconstpointer data)
{
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
	rdmad_log_output_init(&f->output, RDMAD_LOG_TEXT, fds[1], NULL, NULL);
	rdmad_log_output_write(&f->output, &sample);
	assert_read(fds[0], SAMPLE_TEXT);
	for (int i = 0; i < 50000 && f->output.lost == 0; i++)
		rdmad_log_output_write(&f->output, &sample);
	g_assert_cmpuint(f->output.lost, >, 0);
	close(fds[0]);
	close(fds[1]);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/log-output/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(auto_is_text_where_the_journal_is_not),
	TEST(auto_is_the_journal_where_stderr_is_it),
	TEST(without_its_socket_the_journal_is_written_to_as_a_stream),
	TEST(a_journal_that_does_not_read_is_not_waited_for),
	TEST(json_goes_to_the_descriptor_as_it_is),
	TEST(a_blocked_reader_costs_one_wait_and_gets_the_number_of_lost_lines),
	TEST(a_torn_line_ends_before_the_next),
	TEST(a_closed_reader_is_no_harm),
	TEST(an_old_errno_is_no_reason_to_try_for_ever),
	TEST(a_socket_is_written_to_as_well),
	{ 0 },
};
