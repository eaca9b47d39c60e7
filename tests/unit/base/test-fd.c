/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/fd.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "../scratch.h"
#include "../support/entries.h"
#include "../support/unit.h"

/* The calls below are interrupted every second time, transfer at most `at_most` bytes, and fail
 * after `fails_after` calls. */
static gsize at_most;
static guint calls, fails_after;

static gboolean call_is_refused(void)
{
	calls++;
	errno = calls > fails_after ? EIO : EINTR;
	return calls > fails_after || calls % 2;
}

ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
	return call_is_refused() ? -1 : __real_read(fd, bytes, MIN(size, at_most));
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	return call_is_refused() ? -1 : __real_write(fd, bytes, MIN(size, at_most));
}

typedef struct {
	const char *name;
	gsize size, at_most;
	gsize max, read; /* limit, and how much is read with it */
} Case;

static const Case cases[] = {
	{ "empty", 0, 4096, 10, 0 },
	{ "one byte at a time", 40, 1, 40, 40 },
	{ "as large as the limit", 100, 4096, 100, 100 },
	{ "larger by one", 101, 4096, 100, 101 },
	{ "far too large", 100000, 100000, 100, 101 },
	{ "many parts", 100000, 100000, 200000, 100000 },
	{ "short parts", 100000, 7001, 200000, 100000 },
	{ "no limit to speak of", 20000, 20000, G_MAXSIZE - 1, 20000 },
	{ "limit 0", 5, 4096, 0, 1 },
};

static void calls_begin(gsize bytes, guint until_failure)
{
	at_most = bytes;
	calls = 0;
	fails_after = until_failure;
}

static char *pattern(gsize size)
{
	char *bytes = g_malloc(size + 1);

	for (gsize i = 0; i < size; i++)
		bytes[i] = (char)(i * 31 % 251);
	return bytes;
}

static void test_all_bytes_are_written_and_read(gconstpointer data)
{
	const Case *row = data;
	g_autofree char *bytes = pattern(row->size);
	g_autoptr(GString) text = g_string_new("");
	rdmad_autofd int fd = memfd_create("test-fd", MFD_CLOEXEC);

	calls_begin(row->at_most, G_MAXUINT);
	g_assert_true(rdmad_fd_write_all(fd, bytes, row->size));
	g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
	g_assert_true(rdmad_fd_read_all(fd, row->max, text));
	g_assert_cmpmem(text->str, text->len, bytes, row->read);
	g_assert_cmpint(text->str[text->len], ==, '\0');
}

static void test_an_error_ends_it_with_its_errno(void)
{
	g_autofree char *bytes = pattern(100);
	g_autoptr(GString) text = g_string_new("");
	rdmad_autofd int fd = memfd_create("test-fd", MFD_CLOEXEC);

	calls_begin(10, 5);
	g_assert_false(rdmad_fd_write_all(fd, bytes, 100));
	g_assert_cmpint(errno, ==, EIO);
	g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
	calls_begin(5, 3);
	g_assert_false(rdmad_fd_read_all(fd, 100, text));
	g_assert_cmpint(errno, ==, EIO);
}

static void test_a_directory_is_listed_each_time(void)
{
	static const char *const files[] = { ".hidden", "a", "b" };
	g_autoptr(Scratch) dir = scratch_new();
	rdmad_autofd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		g_free(scratch_write(dir, files[i], ""));
	for (guint i = 0; i < 2; i++) {
		g_auto(GStrv) names = rdmad_fd_list(fd, ".");

		g_assert_cmpuint(g_strv_length(names), ==, G_N_ELEMENTS(files));
		for (guint k = 0; k < G_N_ELEMENTS(files); k++)
			g_assert_true(g_strv_contains((const char *const *)names, files[k]));
	}
}

static void test_an_error_is_not_the_end_of_a_directory(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	rdmad_autofd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	g_free(scratch_write(dir, "a", ""));
	for (guint i = 0; i < 3; i++) {
		entries_before_failure = i;
		g_assert_null(rdmad_fd_list(fd, "."));
		g_assert_cmpint(errno, ==, EIO);
	}
	entries_before_failure = G_MAXUINT;
	g_assert_null(rdmad_fd_list(-1, "."));
	g_assert_cmpint(errno, ==, EBADF);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/fd/", cases, test_all_bytes_are_written_and_read),
	UNIT_TEST("/fd/error", test_an_error_ends_it_with_its_errno),
	UNIT_TEST("/fd/list", test_a_directory_is_listed_each_time),
	UNIT_TEST("/fd/list/error", test_an_error_is_not_the_end_of_a_directory),
	{ 0 },
};
