/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib/gstdio.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/unix-socket.h"
#include "../support/unit.h"

typedef struct {
	char *directory, *path;
	RdmadUnixFile file;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->directory = g_dir_make_tmp("rdmad-XXXXXX", NULL);
	f->path = g_build_filename(f->directory, "s", NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_unix_file_clear(&f->file);
	g_remove(f->path);
	g_assert_cmpint(g_rmdir(f->directory), ==, 0);
	g_free(f->path);
	g_free(f->directory);
}

static void test_a_socket_has_its_mode_without_a_umask_too(Fixture *f, gconstpointer data)
{
	const mode_t before = umask(0);
	rdmad_autofd int fd = -1;
	struct stat st;

	fd = rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, NULL);
	umask(before);
	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(lstat(f->path, &st), ==, 0);
	g_assert_true(S_ISSOCK(st.st_mode));
	g_assert_cmpint(st.st_mode & 0777, ==, 0600);
}

static void test_a_client_connects_and_is_known(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd = rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, NULL);
	rdmad_autofd int client G_GNUC_UNUSED = rdmad_unix_connect(SOCK_STREAM, f->path, NULL);
	rdmad_autofd int server = accept(fd, NULL, NULL);
	uid_t uid = (uid_t)-1;

	g_assert_cmpint(server, >=, 0);
	g_assert_true(rdmad_unix_peer_trusted(server, &uid));
	g_assert_cmpint(uid, ==, geteuid());
}

static void test_a_path_longer_than_an_address_works(Fixture *f, gconstpointer data)
{
	g_autofree char *name = g_strnfill(80, 'd');
	g_autofree char *directory = g_build_filename(f->directory, name, NULL);
	g_autofree char *path = g_build_filename(directory, "a-name-of-some-length.sock", NULL);
	g_autoptr(GError) error = NULL;
	rdmad_autofd int fd = -1, client = -1;

	g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
	g_assert_cmpuint(strlen(path), >, 107);
	fd = rdmad_unix_listen(SOCK_STREAM, path, 0600, 4, &f->file, &error);
	g_assert_no_error(error);
	client = rdmad_unix_connect(SOCK_STREAM, path, &error);
	g_assert_no_error(error);
	g_assert_cmpint(client, >=, 0);
	g_assert_cmpint(rdmad_unix_probe(path), ==, 0);
	rdmad_clear_fd(&fd);
	/* The state after a crash. */
	g_assert_cmpint(rdmad_unix_probe(path), ==, ECONNREFUSED);
	rdmad_unix_file_clear(&f->file);
	g_assert_cmpint(g_rmdir(directory), ==, 0);
}

static void test_a_stale_socket_is_replaced(Fixture *f, gconstpointer data)
{
	RdmadUnixFile old = { 0 };
	g_autoptr(GError) error = NULL;
	rdmad_autofd int fd = rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &old, NULL);

	rdmad_clear_fd(&fd);
	g_free(old.path);
	fd = rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, &error);
	g_assert_no_error(error);
	g_assert_cmpint(fd, >=, 0);
}

static void test_a_live_socket_is_busy(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd G_GNUC_UNUSED =
		rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, NULL);
	RdmadUnixFile second = { 0 };
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &second, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_nonnull(strstr(error->message, f->path));
}

static void test_another_kind_of_file_is_busy_and_stays(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(g_file_set_contents(f->path, "precious", -1, NULL));
	g_assert_cmpint(rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_true(g_file_test(f->path, G_FILE_TEST_IS_REGULAR));
}

static void test_a_symbolic_link_is_not_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *target = g_build_filename(f->directory, "target", NULL);
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(symlink(target, f->path), ==, 0);
	g_assert_cmpint(rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_false(g_file_test(target, G_FILE_TEST_EXISTS));
}

static void test_only_the_own_file_is_unlinked(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd G_GNUC_UNUSED =
		rdmad_unix_listen(SOCK_STREAM, f->path, 0600, 4, &f->file, NULL);

	g_remove(f->path);
	g_assert_true(g_file_set_contents(f->path, "another", -1, NULL));
	rdmad_unix_file_clear(&f->file);
	g_assert_true(g_file_test(f->path, G_FILE_TEST_EXISTS));
}

static void test_a_missing_server_is_unavailable(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(rdmad_unix_connect(SOCK_STREAM, f->path, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE);
	g_assert_nonnull(strstr(error->message, f->path));
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/unix-socket/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_socket_has_its_mode_without_a_umask_too),
	TEST(a_client_connects_and_is_known),
	TEST(a_path_longer_than_an_address_works),
	TEST(a_stale_socket_is_replaced),
	TEST(a_live_socket_is_busy),
	TEST(another_kind_of_file_is_busy_and_stays),
	TEST(a_symbolic_link_is_not_followed),
	TEST(only_the_own_file_is_unlinked),
	TEST(a_missing_server_is_unavailable),
	{ 0 },
};
