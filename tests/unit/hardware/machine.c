/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include "../scratch.h"

#include <fcntl.h>
#include <rdmad/fd.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *read_all(int fd)
{
	GString *text = g_string_new(NULL);
	char chunk[4096];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		g_string_append_len(text, chunk, n);
	g_assert_cmpint(n, ==, 0);
	return g_string_free(text, FALSE);
}

char *test_machine_run(const char *program, const char *arg1, const char *arg2, const char *arg3)
{
	g_autofree char *path = g_build_filename(MACHINES_DIR, program, NULL);
	const char *argv[] = { path, arg1, arg2, arg3, NULL };
	posix_spawn_file_actions_t actions;
	char *output;
	int fds[2], status;
	pid_t pid;

	g_assert_cmpint(pipe(fds), ==, 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	g_assert_cmpint(posix_spawn(&pid, path, &actions, NULL, (char **)argv, environ), ==, 0);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	output = read_all(fds[0]);
	close(fds[0]);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	return output;
}

/* In memory if possible, because a machine has thousands of small files. */
static char *make_directory(void)
{
	g_autofree char *dir = g_strdup("/dev/shm/rdmad-machine-XXXXXX");
	g_autoptr(GError) error = NULL;
	char *fallback;

	if (g_mkdtemp(dir))
		return g_steal_pointer(&dir);
	fallback = g_dir_make_tmp("rdmad-machine-XXXXXX", &error);
	g_assert_no_error(error);
	return fallback;
}

TestMachine *test_machine_new_empty(void)
{
	TestMachine *machine = g_new0(TestMachine, 1);
	g_autoptr(GError) error = NULL;

	machine->dir = make_directory();
	machine->root = rdmad_sysroot_new(machine->dir, &error);
	g_assert_no_error(error);
	return machine;
}

TestMachine *test_machine_new(const char *name, const char *setting)
{
	TestMachine *machine = test_machine_new_empty();
	g_autofree char *output G_GNUC_UNUSED =
		test_machine_run("expand", name, machine->dir, setting);

	return machine;
}

void test_machine_put(const TestMachine *machine, const char *path, const char *value, gssize len)
{
	g_autofree char *full = g_build_filename(machine->dir, path, NULL);
	g_autofree char *parent = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(parent, 0755), ==, 0);
	g_assert_true(g_file_set_contents(full, value, len, NULL));
}

void test_machine_settle(const TestMachine *machine, const char *path)
{
	static const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	g_autofree char *full = g_build_filename(machine->dir, path, NULL);

	g_assert_cmpint(utimensat(AT_FDCWD, full, times, 0), ==, 0);
}

void test_machine_free(TestMachine *machine)
{
	rdmad_sysroot_free(machine->root);
	scratch_free(machine->dir);
	g_free(machine);
}
