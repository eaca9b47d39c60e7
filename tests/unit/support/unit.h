/* SPDX-License-Identifier: Apache-2.0 */
/* A test program is a table of its tests: unit_tests[], which ends with an entry without a path. */
#pragma once

#include <glib.h>

typedef struct {
	const char *path;
	GTestFunc test;
	/* With a fixture of `size` bytes. */
	GTestFixtureFunc setup, fixture_test, teardown;
	gsize size;
	/* With data; `cases` of them make one test each, named by the string at `name` of a case. */
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

/* One test for each of an array of structures with a `name`, which goes behind the path: "/object/refuses/". */
#define UNIT_CASES(unit_path, array, function)                                                     \
	{                                                                                          \
		.path = (unit_path), .data_test = (function), .data = (array),                     \
		.cases = G_N_ELEMENTS(array), .size = sizeof((array)[0]),                          \
		.name = G_STRUCT_OFFSET(__typeof__((array)[0]), name)                              \
	}

extern const UnitTest unit_tests[];

/* Adds those of the table.  For programs that have a main() of their own, with more to do. */
void unit_tests_add(void);
