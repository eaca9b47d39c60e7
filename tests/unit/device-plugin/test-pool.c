/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "kubelet/device-list.h"
#include "pool.h"
#include "../support/unit.h"

#define SECOND G_USEC_PER_SEC

typedef struct {
	Pool *pool;
	GPtrArray *devices; /* of RdmadDevice */
	GArray *members;    /* of PoolMember */
	GArray *held;	    /* of HeldSlot */
	gint64 now_us;
	GBytes *list; /* the last message */
} Fixture;

static void setup(Fixture *f, gconstpointer settings)
{
	g_autoptr(ResourceSettings) resource = fixture_resource(settings);

	f->pool = pool_new(resource);
	f->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	f->members = g_array_new(FALSE, FALSE, sizeof(PoolMember));
	f->held = g_array_new(FALSE, FALSE, sizeof(HeldSlot));
	f->now_us = 1000 * SECOND;
}

static void teardown(Fixture *f, gconstpointer settings)
{
	pool_free(f->pool);
	g_clear_pointer(&f->list, g_bytes_unref);
	g_ptr_array_unref(f->devices);
	g_array_unref(f->members);
	g_array_unref(f->held);
}

static RdmadDevice *add(Fixture *f, const char *id)
{
	RdmadDevice *dev = fixture_device(id, id, 1);
	const PoolMember member = { dev, FALSE };

	g_ptr_array_add(f->devices, dev);
	g_array_append_val(f->members, member);
	return dev;
}

static void hold(Fixture *f, const char *slot, const char *device)
{
	const HeldSlot held = { slot, device };

	g_array_append_val(f->held, held);
}

/* Run in each test: the parts copied from the last message must equal new ones. */
static void check_list(Fixture *f)
{
	g_autoptr(GBytes) before = g_steal_pointer(&f->list);
	g_autoptr(GBytes) anew = NULL;

	f->list = device_list_pack(f->pool, before);
	anew = device_list_pack(f->pool, NULL);
	g_assert_true(g_bytes_equal(f->list, anew));
}

static gint64 update(Fixture *f)
{
	const PoolView view = {
		.now_us = f->now_us,
		.health_delay_us = SECOND,
		.forget_us = 60 * SECOND,
		.members = (const PoolMember *)(const void *)f->members->data,
		.n_members = f->members->len,
		.held = (const HeldSlot *)(const void *)f->held->data,
		.n_held = f->held->len,
	};
	gint64 wait_us;

	wait_us = pool_update(f->pool, &view);
	check_list(f);
	return wait_us;
}

/* "a::0 a::1! b::0": "!" marks unhealthy slots. */
static void assert_slots(Fixture *f, const char *expected)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < pool_slot_count(f->pool); i++) {
		const Slot *slot = pool_slot(f->pool, i);

		g_string_append_printf(text, "%s%s%s", i ? " " : "", slot->id,
				       slot->device->health.problem ? "!" : "");
		g_assert_true(pool_find(f->pool, slot->id) == slot);
	}
	g_assert_cmpstr(text->str, ==, expected);
}

#define SHARED_5  "name = \"a/b\"; count = 5;"
#define SHARED_11 "name = \"a/b\"; count = 11;"
#define TWO_PER	  "name = \"a/b\"; count = 2; count_per = \"device\";"
#define EXCLUSIVE "name = \"a/b\"; mode = \"exclusive\";"
#define CARELESS  "name = \"a/b\"; mode = \"exclusive\"; ignore_health = true;"
#define FULL_PER  "name = \"a/b\"; count = 32768; count_per = \"device\";"
#define ONLY_ETHERNET                                                                              \
	"name = \"a/b\"; mode = \"exclusive\"; selectors = { link_layers = \"ethernet\"; };"

static void test_slots_are_spread_and_the_first_devices_get_one_more(Fixture *f, gconstpointer d)
{
	add(f, "a");
	add(f, "b");
	update(f);
	assert_slots(f, "a::0 a::1 a::2 b::0 b::1");
}

static void test_numbers_have_the_digits_of_the_count(Fixture *f, gconstpointer d)
{
	for (guint i = 0; i < 4; i++)
		add(f, (const char *[]){ "mlx5_10", "mlx5_2", "a", "b" }[i]);
	update(f);
	assert_slots(f, "a::00 a::01 a::02 b::00 b::01 b::02 mlx5_2::00 mlx5_2::01 mlx5_2::02 "
			"mlx5_10::00 mlx5_10::01");
}

static void test_count_per_device(Fixture *f, gconstpointer d)
{
	add(f, "a");
	add(f, "b");
	update(f);
	assert_slots(f, "a::0 a::1 b::0 b::1");
}

static void test_an_exclusive_device_is_its_own_slot(Fixture *f, gconstpointer d)
{
	add(f, "0000:3b:00.0");
	add(f, "0000:0a:00.0");
	update(f);
	assert_slots(f, "0000:0a:00.0 0000:3b:00.0");
	hold(f, "0000:3b:00.0", "0000:3b:00.0");
	update(f);
	assert_slots(f, "0000:0a:00.0 0000:3b:00.0");
}

/* As in `rdmad devices`: a part of a PCI address is not a decimal number. */
static void test_devices_are_in_the_order_of_their_addresses(Fixture *f, gconstpointer d)
{
	add(f, "0000:9a:00.0");
	add(f, "0000:18:00.0");
	update(f);
	assert_slots(f, "0000:18:00.0 0000:9a:00.0");
}

static void test_held_slots_stay_when_a_device_joins(Fixture *f, gconstpointer d)
{
	add(f, "a");
	hold(f, "a::4", "a");
	update(f);
	assert_slots(f, "a::0 a::1 a::2 a::3 a::4");
	add(f, "b");
	update(f);
	assert_slots(f, "a::0 a::1 a::4 b::0 b::1");
	g_array_set_size(f->held, 0);
	update(f);
	assert_slots(f, "a::0 a::1 a::2 b::0 b::1");
}

static void test_a_device_held_in_another_form_is_not_offered_again(Fixture *f, gconstpointer d)
{
	add(f, "a");
	hold(f, "a::7", "a");
	update(f);
	assert_slots(f, "a::7");
}

static void test_a_device_that_leaves_keeps_its_share_for_a_time(Fixture *f, gconstpointer d)
{
	add(f, "a");
	add(f, "b");
	update(f);
	g_array_set_size(f->members, 1);
	g_assert_cmpint(update(f), ==, 60 * SECOND);
	assert_slots(f, "a::0 a::1 a::2 b::0! b::1!");
	f->now_us += 59 * SECOND;
	g_assert_cmpint(update(f), ==, SECOND);
	assert_slots(f, "a::0 a::1 a::2 b::0! b::1!");
	f->now_us += SECOND;
	g_assert_cmpint(update(f), ==, 0);
	assert_slots(f, "a::0 a::1 a::2 a::3 a::4");
}

static void test_what_is_held_of_a_forgotten_device_stays_unhealthy(Fixture *f, gconstpointer d)
{
	add(f, "a");
	hold(f, "b::1", "b");
	g_assert_cmpint(update(f), ==, 0);
	assert_slots(f, "a::0 a::1 a::2 a::3 a::4 b::1!");
	add(f, "b");
	update(f);
	g_assert_cmpstr(pool_find(f->pool, "b::1")->device->dev->name, ==, "b");
}

static void test_a_link_that_goes_down_counts_at_once_and_up_after_the_delay(Fixture *f,
									     gconstpointer d)
{
	RdmadDevice *dev = add(f, "a");

	update(f);
	assert_slots(f, "a");
	dev->ports[0].state = RDMAD_PORT_DOWN;
	g_assert_cmpint(update(f), ==, 0);
	assert_slots(f, "a!");
	dev->ports[0].state = RDMAD_PORT_ACTIVE;
	g_assert_cmpint(update(f), ==, SECOND);
	assert_slots(f, "a!");
	f->now_us += SECOND / 2;
	dev->ports[0].state = RDMAD_PORT_DOWN;
	update(f);
	dev->ports[0].state = RDMAD_PORT_ACTIVE;
	g_assert_cmpint(update(f), ==, SECOND);
	f->now_us += SECOND;
	g_assert_cmpint(update(f), ==, 0);
	assert_slots(f, "a");
}

static void test_only_ports_of_the_selected_link_layer_count(Fixture *f, gconstpointer d)
{
	RdmadDevice *dev = add(f, "a");

	g_free(dev->ports);
	dev->n_ports = 2;
	dev->ports = g_new0(RdmadPort, 2);
	dev->ports[0].link_layer = RDMAD_LINK_LAYER_INFINIBAND;
	dev->ports[0].state = RDMAD_PORT_ACTIVE;
	dev->ports[1].link_layer = RDMAD_LINK_LAYER_ETHERNET;
	dev->ports[1].state = RDMAD_PORT_DOWN;
	update(f);
	assert_slots(f, "a!");
}

static void test_a_fatal_device_and_one_without_uverbs_are_unhealthy(Fixture *f, gconstpointer d)
{
	add(f, "a")->fatal = TRUE;
	add(f, "b")->n_chardevs = 0;
	update(f);
	assert_slots(f, "a! b!");
	((RdmadDevice *)f->devices->pdata[1])->n_chardevs = 2;
}

static void test_with_ignore_health_only_leaving_counts(Fixture *f, gconstpointer d)
{
	add(f, "a")->ports[0].state = RDMAD_PORT_DOWN;
	add(f, "b");
	update(f);
	assert_slots(f, "a b");
	g_array_set_size(f->members, 1);
	update(f);
	assert_slots(f, "a b!");
}

static void test_with_ignore_health_a_device_without_uverbs_is_not_offered(Fixture *f,
									   gconstpointer d)
{
	add(f, "a")->n_chardevs = 0;
	add(f, "b");
	update(f);
	assert_slots(f, "a! b");
	((RdmadDevice *)f->devices->pdata[0])->n_chardevs = 2;
}

static void test_a_list_is_cut_to_what_one_message_carries(Fixture *f, gconstpointer d)
{
	add(f, "a");
	update(f);
	g_assert_false(pool_is_cut(f->pool));
	add(f, "b");
	update(f);
	g_assert_true(pool_is_cut(f->pool));
	g_assert_cmpuint(pool_slot_count(f->pool), ==, RESOURCE_SLOTS_MAX);
}

static void test_a_device_of_a_second_resource_has_other_ids(Fixture *f, gconstpointer d)
{
	add(f, "0000:3b:00.0");
	g_array_index(f->members, PoolMember, 0).marked = TRUE;
	update(f);
	g_assert_true(g_str_has_prefix(pool_slot(f->pool, 0)->id, "0000:3b:00.0:"));
	g_assert_cmpuint(strlen(pool_slot(f->pool, 0)->id), ==, strlen("0000:3b:00.0:000000"));
}

static void count_news(const PoolDevice *device, gpointer data)
{
	++*(guint *)data;
}

static void test_news_are_told_once(Fixture *f, gconstpointer d)
{
	RdmadDevice *dev = add(f, "a");
	guint news = 0;

	update(f);
	pool_take_news(f->pool, count_news, &news);
	g_assert_cmpuint(news, ==, 0);
	dev->ports[0].state = RDMAD_PORT_DOWN;
	update(f);
	pool_take_news(f->pool, count_news, &news);
	pool_take_news(f->pool, count_news, &news);
	g_assert_cmpuint(news, ==, 1);
}

#define TEST(settings, function)                                                                   \
	UNIT_FIXTURE_TEST("/pool/" #function, Fixture, settings, setup, test_##function, teardown)

const UnitTest unit_tests[] = {
	TEST(SHARED_5, slots_are_spread_and_the_first_devices_get_one_more),
	TEST(SHARED_11, numbers_have_the_digits_of_the_count),
	TEST(TWO_PER, count_per_device),
	TEST(EXCLUSIVE, an_exclusive_device_is_its_own_slot),
	TEST(EXCLUSIVE, devices_are_in_the_order_of_their_addresses),
	TEST(SHARED_5, held_slots_stay_when_a_device_joins),
	TEST(EXCLUSIVE, a_device_held_in_another_form_is_not_offered_again),
	TEST(SHARED_5, a_device_that_leaves_keeps_its_share_for_a_time),
	TEST(SHARED_5, what_is_held_of_a_forgotten_device_stays_unhealthy),
	TEST(EXCLUSIVE, a_link_that_goes_down_counts_at_once_and_up_after_the_delay),
	TEST(ONLY_ETHERNET, only_ports_of_the_selected_link_layer_count),
	TEST(EXCLUSIVE, a_fatal_device_and_one_without_uverbs_are_unhealthy),
	TEST(CARELESS, with_ignore_health_only_leaving_counts),
	TEST(CARELESS, with_ignore_health_a_device_without_uverbs_is_not_offered),
	TEST(FULL_PER, a_list_is_cut_to_what_one_message_carries),
	TEST(EXCLUSIVE, a_device_of_a_second_resource_has_other_ids),
	TEST(EXCLUSIVE, news_are_told_once),
	{ 0 },
};
