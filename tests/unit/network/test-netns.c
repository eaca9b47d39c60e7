/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <rdmad/error.h>
#include <rdmad/work.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "base/work.h"
#include "namespace.h"
#include "../support/unit.h"

typedef struct {
	char *directory;
	int netns; /* -1: skipped */
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->directory = g_dir_make_tmp("rdmad-XXXXXX", NULL);
	f->netns = namespace_new();
	if (f->netns < 0)
		g_test_skip("network namespaces need root");
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_clear_fd(&f->netns);
	g_assert_cmpint(g_rmdir(f->directory), ==, 0);
	g_free(f->directory);
}

static char *fd_path(int fd)
{
	return g_strdup_printf("/proc/self/fd/%d", fd);
}

static void test_a_namespace_has_an_identity(Fixture *f, gconstpointer data)
{
	g_autofree char *path = fd_path(f->netns);
	g_autoptr(GError) error = NULL;
	RdmadNetnsId by_path, by_fd, own;
	rdmad_autofd int fd = -1, own_fd = -1;

	if (f->netns < 0)
		return;
	fd = rdmad_netns_open(path, &by_path, &error);
	g_assert_no_error(error);
	g_assert_cmpint(fcntl(fd, F_GETFD), ==, FD_CLOEXEC);
	g_assert_true(rdmad_netns_check(f->netns, &by_fd, &error));
	g_assert_true(rdmad_netns_id_equal(&by_path, &by_fd));
	own_fd = rdmad_netns_open_own(&own, NULL);
	g_assert_false(rdmad_netns_id_equal(&own, &by_fd));
}

static void test_a_bind_mount_is_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(f->directory, "mounted", NULL);
	g_autofree char *link = g_build_filename(f->directory, "link", NULL);
	g_autofree char *source = fd_path(f->netns);
	g_autoptr(GError) error = NULL;
	rdmad_autofd int fd = -1, by_link = -1;

	if (f->netns < 0)
		return;
	g_assert_cmpint(unshare(CLONE_NEWNS), ==, 0);
	g_assert_cmpint(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), ==, 0);
	g_assert_true(g_file_set_contents(path, "", 0, NULL));
	g_assert_cmpint(mount(source, path, NULL, MS_BIND, NULL), ==, 0);
	g_assert_cmpint(symlink(path, link), ==, 0);
	fd = rdmad_netns_open(path, NULL, &error);
	g_assert_no_error(error);
	by_link = rdmad_netns_open(link, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpint(umount2(path, MNT_DETACH), ==, 0);
	g_assert_cmpint(rdmad_netns_open(path, NULL, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_remove(link);
	g_remove(path);
}

static void test_other_paths_are_refused(Fixture *f, gconstpointer data)
{
	g_autofree char *fifo = g_build_filename(f->directory, "fifo", NULL);
	g_autofree char *loop = g_build_filename(f->directory, "loop", NULL);
	const struct {
		const char *path;
		int code;
	} cases[] = {
		{ "/no/such/path", RDMAD_ERROR_NOT_FOUND },
		{ "", RDMAD_ERROR_NOT_FOUND },
		{ "/etc/passwd/x", RDMAD_ERROR_NOT_FOUND },
		{ "/etc/passwd", RDMAD_ERROR_INVALID },
		{ "/etc", RDMAD_ERROR_INVALID },
		{ "/dev/null", RDMAD_ERROR_INVALID },
		{ fifo, RDMAD_ERROR_INVALID },
		{ loop, RDMAD_ERROR_FAILED },
		{ "/proc/self/ns/mnt", RDMAD_ERROR_INVALID },
		{ "/proc/self/ns/net", RDMAD_ERROR_INVALID },
		{ "/proc/self", RDMAD_ERROR_INVALID },
	};

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	g_assert_cmpint(symlink(loop, loop), ==, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_cmpint(rdmad_netns_open(cases[i].path, NULL, &error), ==, -1);
		g_assert_error(error, RDMAD_ERROR, cases[i].code);
	}
	g_remove(fifo);
	g_remove(loop);
}

static void test_other_descriptors_are_refused(Fixture *f, gconstpointer data)
{
	static const char *const paths[] = { "/etc/passwd", "/proc/self/ns/uts",
					     "/proc/self/ns/net" };
	rdmad_autofd int packets = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	g_assert_false(rdmad_netns_check(packets, NULL, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
		rdmad_autofd int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		g_autoptr(GError) error = NULL;

		g_assert_false(rdmad_netns_check(fd, NULL, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	}
}

static gboolean note_namespace(gpointer data, GError **error)
{
	rdmad_autofd int fd = rdmad_netns_open_own(data, error);

	return fd >= 0;
}

static gboolean always_fail(gpointer data, GError **error)
{
	g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_GONE, "as it was to");
	return FALSE;
}

static void test_a_call_is_inside_and_the_caller_is_not(Fixture *f, gconstpointer data)
{
	RdmadNetnsId expected, inside, before, after;
	g_autoptr(GError) error = NULL;

	if (f->netns < 0)
		return;
	rdmad_netns_check(f->netns, &expected, NULL);
	note_namespace(&before, NULL);
	g_assert_true(rdmad_netns_call(f->netns, note_namespace, &inside, &error));
	note_namespace(&after, NULL);
	g_assert_true(rdmad_netns_id_equal(&inside, &expected));
	g_assert_true(rdmad_netns_id_equal(&before, &after));
	g_assert_false(rdmad_netns_call(f->netns, always_fail, NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
}

static void test_what_is_no_namespace_cannot_be_entered(Fixture *f, gconstpointer data)
{
	rdmad_autofd int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	g_autoptr(GError) error = NULL;

	g_assert_false(rdmad_netns_call(file, always_fail, NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
}

/* ---- a job, as a module has it ---- */

typedef struct {
	RdmadLoop *loop;
	guint done, right;
	RdmadNetnsId expected;
} Jobs;

static gpointer job_run(gpointer input, const RdmadJob *job, GError **error)
{
	g_autofree RdmadNetnsId *id = g_new0(RdmadNetnsId, 1);

	return rdmad_netns_call(*(int *)input, note_namespace, id, error) ? g_steal_pointer(&id)
									  : NULL;
}

static void job_done(gpointer result, const GError *error, gpointer data)
{
	Jobs *jobs = data;

	g_assert_no_error(error);
	jobs->right += rdmad_netns_id_equal(result, &jobs->expected);
	g_free(result);
	if (++jobs->done == 20)
		rdmad_loop_stop(jobs->loop);
}

static const RdmadJobClass job_class = { "netns-test", job_run, job_done, g_free, g_free };

static void test_results_of_jobs_come_back_on_the_loop(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadLoop) loop = rdmad_loop_new();
	g_autoptr(RdmadWorkers) workers = rdmad_workers_new(loop, 4, NULL);
	Jobs jobs = { .loop = loop };

	if (f->netns < 0)
		return;
	rdmad_netns_check(f->netns, &jobs.expected, NULL);
	for (guint i = 0; i < 20; i++)
		g_assert_nonnull(rdmad_work_submit(workers, NULL, &job_class,
						   g_memdup2(&f->netns, sizeof(int)), 0, &jobs,
						   NULL));
	rdmad_loop_run(loop);
	g_assert_cmpuint(jobs.right, ==, 20);
}

#define TEST(name) UNIT_FIXTURE_TEST("/netns/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_namespace_has_an_identity),
	TEST(other_paths_are_refused),
	TEST(other_descriptors_are_refused),
	TEST(a_call_is_inside_and_the_caller_is_not),
	TEST(what_is_no_namespace_cannot_be_entered),
	TEST(results_of_jobs_come_back_on_the_loop),
	TEST(a_bind_mount_is_followed),
	{ 0 },
};
