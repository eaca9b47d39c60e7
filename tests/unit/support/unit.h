/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests: a test program is a table unit_tests[], which ends with an entry without a path. */
#pragma once

#include <glib.h>

typedef struct {
	const char *path;
	GTestFunc test;
	/* With a fixture of `size` bytes. */
	GTestFixtureFunc setup, fixture_test, teardown;
	gsize size;
	/* With data: each of `cases` elements is one test, named by the string at offset `name`. */
	GTestDataFunc data_test;
	gconstpointer data;
	guint cases;
	gsize name;
} UnitTest;

#define UNIT_TEST(unit_path, function)                                                             \
	{                                                                                          \
		.path = (unit_path), .test = (function)                                            \
	}

#define UNIT_FIXTURE_TEST(unit_path, Type, argument, set_up, function, tear_down)                  \
	{                                                                                          \
		.path = (unit_path), .setup = (GTestFixtureFunc)(set_up),                          \
		.fixture_test = (GTestFixtureFunc)(function),                                      \
		.teardown = (GTestFixtureFunc)(tear_down), .size = sizeof(Type),                   \
		.data = (argument)                                                                 \
	}

#define UNIT_DATA_TEST(unit_path, argument, function)                                              \
	{                                                                                          \
		.path = (unit_path), .data_test = (function), .data = (argument)                   \
	}

/* One test for each element of an array of structures with a `name`, which is appended to the
 * path: "/object/refuses/". */
#define UNIT_CASES(unit_path, array, function)                                                     \
	{                                                                                          \
		.path = (unit_path), .data_test = (function), .data = (array),                     \
		.cases = G_N_ELEMENTS(array), .size = sizeof((array)[0]),                          \
		.name = G_STRUCT_OFFSET(__typeof__((array)[0]), name)                              \
	}

extern const UnitTest unit_tests[];

/* Adds the tests of the table, for programs with a main() of their own. */
void unit_tests_add(void);
