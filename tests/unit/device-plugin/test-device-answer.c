/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/device-answer.h"

#include "fixture.h"
#include "../support/unit.h"

#define MORE_THAN_KEPT 150u /* sets of devices */

typedef struct {
	ResourceSettings *settings;
	GPtrArray *devices;
	DeviceAnswers *answers;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->settings = fixture_resource("name = \"rdma/hca\"; count = 4;");
	f->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	for (guint i = 0; i < MORE_THAN_KEPT; i++) {
		g_autofree char *id = g_strdup_printf("0000:%02x:00.0", i);
		g_autofree char *name = g_strdup_printf("mlx5_%u", i);

		g_ptr_array_add(f->devices, fixture_device(id, name, 0));
	}
	f->answers = device_answers_new();
}

static void teardown(Fixture *f, gconstpointer data)
{
	device_answers_free(f->answers);
	g_ptr_array_unref(f->devices);
	resource_settings_unref(f->settings);
}

/* Of `n` devices from `first` on. */
static const DeviceAnswer *get(Fixture *f, guint first, guint n)
{
	g_autoptr(GPtrArray) devices = g_ptr_array_new();

	for (guint i = 0; i < n; i++)
		g_ptr_array_add(devices, f->devices->pdata[first + i]);
	return device_answers_get(f->answers, devices, f->settings);
}

static const char *list_of(const DeviceAnswer *answer)
{
	const V1beta1__ContainerAllocateResponse__EnvsEntry *env = answer->envs->pdata[0];

	g_assert_cmpstr(env->key, ==, "PCIDEVICE_RDMA_HCA");
	return env->value;
}

static void test_allocations_of_the_same_devices_share_an_answer(Fixture *f, gconstpointer data)
{
	const DeviceAnswer *one = get(f, 0, 1), *both = get(f, 0, 2), *again = get(f, 0, 1);

	g_assert_true(one == again);
	g_assert_cmpstr(list_of(one), ==, "0000:00:00.0");
	g_assert_cmpstr(list_of(both), ==, "0000:00:00.0,0000:01:00.0");
	device_answer_unref(one);
	device_answer_unref(both);
	device_answer_unref(again);
}

static void test_an_answer_outlives_the_table(Fixture *f, gconstpointer data)
{
	const DeviceAnswer *answers[MORE_THAN_KEPT];

	for (guint i = 0; i < MORE_THAN_KEPT; i++)
		answers[i] = get(f, i, 1);
	device_answers_clear(f->answers);
	for (guint i = 0; i < MORE_THAN_KEPT; i++) {
		const RdmadDevice *dev = f->devices->pdata[i];

		g_assert_cmpstr(list_of(answers[i]), ==, dev->id);
		device_answer_unref(answers[i]);
	}
}

static void test_the_table_is_bounded(Fixture *f, gconstpointer data)
{
	const DeviceAnswer *first = get(f, 0, 1), *again;

	for (guint i = 1; i < MORE_THAN_KEPT; i++)
		device_answer_unref(get(f, i, 1));
	again = get(f, 0, 1);
	g_assert_true(first != again);
	device_answer_unref(first);
	device_answer_unref(again);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/device-answer/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(allocations_of_the_same_devices_share_an_answer),
	TEST(an_answer_outlives_the_table),
	TEST(the_table_is_bounded),
	{ 0 },
};
