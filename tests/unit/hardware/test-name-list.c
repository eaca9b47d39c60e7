/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "hardware/counters/name-list.h"
#include "../support/unit.h"

static const char *const names[] = { "rx_bytes", "tx_bytes", "rx_errors" };

static void assert_names(const RdmadNameList *list, guint n)
{
	g_assert_cmpuint(list->n, ==, n);
	for (guint i = 0; i < n; i++)
		g_assert_cmpstr(list->names[i], ==, names[i]);
}

static void test_equal_lists_are_one(void)
{
	RdmadNameList *one = rdmad_name_list_new(names, 3);
	RdmadNameList *same = rdmad_name_list_new(names, 3);
	RdmadNameList *shorter = rdmad_name_list_new(names, 2);
	RdmadNameList *empty = rdmad_name_list_new(NULL, 0);

	g_assert_true(one == same);
	g_assert_true(one != shorter);
	assert_names(one, 3);
	assert_names(shorter, 2);
	assert_names(empty, 0);
	rdmad_name_list_unref(one);
	rdmad_name_list_unref(shorter);
	rdmad_name_list_unref(empty);
	assert_names(same, 3);
	rdmad_name_list_unref(same);
}

static void test_a_list_lives_as_long_as_anybody_has_it(void)
{
	g_autofree char *name = g_strdup("from the kernel");
	RdmadNameList *list = rdmad_name_list_new((const char *const[]){ name }, 1);
	RdmadNameList *other = rdmad_name_list_ref(list);

	name[0] = 'x';
	rdmad_name_list_unref(list);
	g_assert_cmpstr(other->names[0], ==, "from the kernel");
	rdmad_name_list_unref(other);
	rdmad_name_list_unref(NULL);
}

/* Readings are freed on any thread. */
static gpointer come_and_go(gpointer data)
{
	for (guint i = 0; i < 10000; i++) {
		RdmadNameList *list = rdmad_name_list_new(names, 3);

		assert_names(list, 3);
		rdmad_name_list_unref(list);
	}
	return NULL;
}

static void test_the_last_of_one_thread_may_be_the_first_of_another(void)
{
	pthread_t threads[2];

	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, come_and_go, NULL), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_assert_cmpint(pthread_join(threads[i], NULL), ==, 0);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/name-list/equal lists are one", test_equal_lists_are_one),
	UNIT_TEST("/name-list/a list lives as long as anybody has it",
		  test_a_list_lives_as_long_as_anybody_has_it),
	UNIT_TEST("/name-list/the last of one thread may be the first of another",
		  test_the_last_of_one_thread_may_be_the_first_of_another),
	{ 0 },
};
