/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "allocate/placement.h"
#include "allocate/preferred.h"
#include "../support/unit.h"

/* A pool for the requests; test-choice.c tests the choice itself. */
typedef struct {
	Pool *pool;
	GPtrArray *devices;
	GArray *gpus;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(ResourceSettings) settings =
		fixture_resource("name = \"a/b\"; count = 3; count_per = \"device\";");
	PoolMember members[4];
	PoolView attributes = { .now_us = G_USEC_PER_SEC, .members = members, .n_members = 4 };

	f->pool = pool_new(settings);
	f->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	for (guint i = 0; i < 4; i++) {
		const char id[] = { (char)('a' + i), '\0' };

		g_ptr_array_add(f->devices, fixture_device(id, id, (int)i / 2));
		members[i] = (PoolMember){ f->devices->pdata[i], FALSE };
	}
	pool_update(f->pool, &attributes);
	f->gpus = g_array_new(FALSE, FALSE, sizeof(PlacementGpu));
}

static void teardown(Fixture *f, gconstpointer data)
{
	pool_free(f->pool);
	g_ptr_array_unref(f->devices);
	g_array_unref(f->gpus);
}

static void test_garbage_is_refused(Fixture *f, gconstpointer data)
{
	static const guint8 garbage[] = { 0x0a, 0xff, 0x01 };
	g_autoptr(GError) error = NULL;

	g_assert_null(preferred_answer(f->pool, f->gpus, NULL, garbage, sizeof(garbage), &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_a_message_that_swells_in_memory_is_refused(Fixture *f, gconstpointer data)
{
	/* One container with a million empty IDs: two bytes each on the wire, a pointer and a
	 * string in memory. */
	const gsize ids = 1000 * 1000, body = 2 * ids;
	g_autoptr(GByteArray) message = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(GBytes) answer = NULL;

	g_byte_array_append(message,
			    (const guint8[]){ 0x0a, 0x80 | (body & 0x7f),
					      0x80 | ((body >> 7) & 0x7f),
					      0x80 | ((body >> 14) & 0x7f), (guint8)(body >> 21) },
			    5);
	for (gsize i = 0; i < ids; i++)
		g_byte_array_append(message, (const guint8[]){ 0x0a, 0x00 }, 2);
	answer = preferred_answer(f->pool, f->gpus, NULL, message->data, message->len, &error);
	g_assert_null(answer);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

const UnitTest unit_tests[] = {
	UNIT_FIXTURE_TEST("/preferred/garbage is refused", Fixture, NULL, setup,
			  test_garbage_is_refused, teardown),
	UNIT_FIXTURE_TEST("/preferred/a message that swells in memory is refused", Fixture, NULL,
			  setup, test_a_message_that_swells_in_memory_is_refused, teardown),
	{ 0 },
};
