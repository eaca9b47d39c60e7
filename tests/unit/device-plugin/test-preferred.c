/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "preferred.h"

/* Four devices on two NUMA nodes, three tokens each: a, b on node 0; c, d on node 1. */
typedef struct {
	RdmadPool *pool;
	GPtrArray *devices;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadResourceSettings) settings =
		fixture_resource("name = \"a/b\"; count = 3; count_per = \"device\";");
	RdmadPoolMember members[4];
	RdmadPoolFacts facts = { .now_us = G_USEC_PER_SEC, .members = members, .n_members = 4 };

	f->pool = rdmad_pool_new(settings);
	f->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	for (guint i = 0; i < 4; i++) {
		const char id[] = { (char)('a' + i), '\0' };

		g_ptr_array_add(f->devices, fixture_device(id, id, (int)i / 2));
		members[i] = (RdmadPoolMember){ f->devices->pdata[i], FALSE };
	}
	rdmad_pool_update(f->pool, &facts);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_pool_free(f->pool);
	g_ptr_array_unref(f->devices);
}

typedef struct {
	const char *name, *available, *must;
	gsize size;
	const char *expected;
} PreferredCase;

#define ALL "d::2 d::1 d::0 c::2 c::1 c::0 b::2 b::1 b::0 a::2 a::1 a::0"

static const PreferredCase CASES[] = {
	{ "one of all is the first", ALL, "", 1, "a::0" },
	{ "two are two devices of one node", ALL, "", 2, "a::0 b::0" },
	{ "three are three devices", ALL, "", 3, "a::0 b::0 c::0" },
	{ "five are all devices and one again", ALL, "", 5, "a::0 b::0 c::0 d::0 a::1" },
	{ "the device with the fewest in use goes first", "a::1 a::2 b::0 b::1 b::2", "", 1,
	  "b::0" },
	{ "two fit on one node only", "a::0 a::1 c::0 d::1", "", 2, "c::0 d::1" },
	{ "what must be in is first and its node preferred", ALL, "c::1", 2, "c::1 d::0" },
	{ "what must be in counts for its device", ALL, "c::1 d::1", 4, "c::1 d::1 a::0 b::0" },
	{ "only what must be in", ALL, "b::0 b::1", 2, "b::0 b::1" },
	{ "less than asked for when there is no more", "a::0", "", 3, "a::0" },
	{ "unknown ids are passed over", "x::0 y::0 b::2", "", 1, "b::2" },
	{ "nothing is asked for", ALL, "", 0, "" },
	{ "nothing is offered", "", "", 2, "" },
};

static void test_case(Fixture *f, gconstpointer data)
{
	const PreferredCase *one = data;
	g_auto(GStrv) available = g_strsplit(one->available, " ", -1);
	g_auto(GStrv) must = g_strsplit(one->must, " ", -1);
	const RdmadPreference preference = {
		.available = available,
		.n_available = g_strv_length(available),
		.must = must,
		.n_must = g_strv_length(must),
		.size = one->size,
	};
	g_autoptr(GPtrArray) chosen = rdmad_preferred_choose(f->pool, &preference);
	g_autofree char *text = NULL;

	g_ptr_array_add(chosen, NULL);
	text = g_strjoinv(" ", (char **)chosen->pdata);
	g_assert_cmpstr(text, ==, one->expected);
}

static void test_garbage_is_refused(Fixture *f, gconstpointer data)
{
	static const guint8 garbage[] = { 0x0a, 0xff, 0x01 };
	g_autoptr(GError) error = NULL;

	g_assert_null(rdmad_preferred_answer(f->pool, garbage, sizeof(garbage), &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_a_message_that_swells_in_memory_is_refused(Fixture *f, gconstpointer data)
{
	/* One container with a million empty ids: two bytes each, a pointer and a string here. */
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
	answer = rdmad_preferred_answer(f->pool, message->data, message->len, &error);
	g_assert_null(answer);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(CASES); i++) {
		g_autofree char *path = g_strdup_printf("/preferred/%s", CASES[i].name);

		g_test_add(path, Fixture, &CASES[i], setup, test_case, teardown);
	}
	g_test_add("/preferred/garbage is refused", Fixture, NULL, setup, test_garbage_is_refused,
		   teardown);
	g_test_add("/preferred/a message that swells in memory is refused", Fixture, NULL, setup,
		   test_a_message_that_swells_in_memory_is_refused, teardown);
	return g_test_run();
}
