/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded machines for tests, each expanded into its own directory */
#pragma once

#include "hardware/sysroot.h"

typedef struct {
	char *dir;
	RdmadSysroot *root;
} TestMachine;

/* `setting` "NAME=VALUE" or NULL. */
TestMachine *test_machine_new(const char *name, const char *setting);
/* Makes an empty machine, for a test to fill. */
TestMachine *test_machine_new_empty(void);
/* Writes a file and its parent directories; `len` as for g_file_set_contents(). */
void test_machine_put(const TestMachine *machine, const char *path, const char *value, gssize len);
/* Sets the time of a directory's last change far back, as if it had not changed since. */
void test_machine_settle(const TestMachine *machine, const char *path);
void test_machine_free(TestMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TestMachine, test_machine_free)

/* Runs a program of tests/machines and returns its output; fails the test on an error. */
char *test_machine_run(const char *program, const char *arg1, const char *arg2, const char *arg3);
