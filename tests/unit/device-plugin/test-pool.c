/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "kubelet/device-list.h"
#include "pool.h"
#include "service/allocation-private.h"
#include "../support/unit.h"

#define SECOND G_USEC_PER_SEC

typedef struct {
	Pool *pool;
	GPtrArray *devices; /* of RdmadDevice */
	GArray *members;    /* of PoolMember */
	GArray *held;	    /* of HeldSlot */
	GPtrArray *rivals;  /* of RdmadAllocation */
	gint64 now_us;
	gboolean present; /* a device that is no member is present */
	GBytes *list;	  /* the last message */
} Fixture;

static void setup(Fixture *f, gconstpointer settings)
{
	g_autoptr(ResourceSettings) resource = fixture_resource(settings);

	f->pool = pool_new(resource);
	f->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	f->members = g_array_new(FALSE, FALSE, sizeof(PoolMember));
	f->held = g_array_new(FALSE, FALSE, sizeof(HeldSlot));
	f->rivals = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_allocation_unref);
	f->now_us = 1000 * SECOND;
}

static void teardown(Fixture *f, gconstpointer settings)
{
	pool_free(f->pool);
	g_clear_pointer(&f->list, g_bytes_unref);
	g_ptr_array_unref(f->devices);
	g_array_unref(f->members);
	g_array_unref(f->held);
	g_ptr_array_unref(f->rivals);
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

static gboolean is_present(const char *device, gpointer data)
{
	const Fixture *f = data;

	return f->present;
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
		.is_present = is_present,
		.data = f,
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
				       pool_slot_is_healthy(slot) ? "" : "!");
		g_assert_true(pool_find(f->pool, slot->id) == slot);
	}
	g_assert_cmpstr(text->str, ==, expected);
}

#define SHARED_5  "name = \"a/b\"; count = 5;"
#define SHARED_11 "name = \"a/b\"; count = 11;"
#define TWO_PER	  "name = \"a/b\"; count = 2; count_per = \"device\";"
#define THREE_PER "name = \"a/b\"; count = 3; count_per = \"device\";"
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

/* Makes an allocation of pod ml/`pod` the rival of that member; NULL: the pod has no name. */
static void rival_set(Fixture *f, guint member, const char *pod, const char *resource)
{
	RdmadAllocation *rival = rdmad_allocation_new(NULL);
	PoolMember *held = &g_array_index(f->members, PoolMember, member);

	rival->resource = g_strdup(resource);
	rdmad_allocation_set_pod(rival, pod ? "ml" : NULL, pod, NULL);
	g_ptr_array_add(f->rivals, rival);
	held->rival = rival;
}

static void test_slots_of_a_device_that_another_resource_holds_are_withheld(Fixture *f,
									    gconstpointer d)
{
	add(f, "a");
	add(f, "b");
	rival_set(f, 0, "train", "rdma/rail");
	update(f);
	assert_slots(f, "a! b");
	g_assert_cmpuint(pool_healthy_count(f->pool), ==, 1);
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==,
			"held by ml/train as rdma/rail");
	g_assert_null(pool_device_problem(pool_device(f->pool, 1)));
	g_array_index(f->members, PoolMember, 0).rival = NULL;
	update(f);
	assert_slots(f, "a b");
	g_assert_null(pool_device_problem(pool_device(f->pool, 0)));
}

static void test_a_held_slot_is_never_withheld(Fixture *f, gconstpointer d)
{
	add(f, "a");
	hold(f, "a", "a");
	rival_set(f, 0, "train", "a/b");
	update(f);
	assert_slots(f, "a");
	g_assert_null(pool_device_problem(pool_device(f->pool, 0)));
}

static void test_shared_slots_beside_an_exclusive_holder_are_withheld(Fixture *f, gconstpointer d)
{
	add(f, "a");
	add(f, "b");
	hold(f, "a", "a");
	rival_set(f, 0, NULL, "a/b");
	update(f);
	assert_slots(f, "a::0! a::1! a b::0 b::1 b::2");
	g_assert_cmpuint(pool_healthy_count(f->pool), ==, 4);
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==,
			"held by a pod that kubelet has not named, as a/b");
}

static void test_ignored_health_leaves_slots_withheld(Fixture *f, gconstpointer d)
{
	add(f, "a")->ports[0].state = RDMAD_PORT_DOWN;
	rival_set(f, 0, "train", "rdma/rail");
	update(f);
	assert_slots(f, "a!");
}

static void test_the_health_of_the_device_is_the_first_problem(Fixture *f, gconstpointer d)
{
	add(f, "a")->ports[0].state = RDMAD_PORT_DOWN;
	rival_set(f, 0, "train", "rdma/rail");
	update(f);
	assert_slots(f, "a!");
	g_assert_true(pool_device_problem(pool_device(f->pool, 0)) ==
		      pool_device(f->pool, 0)->health.problem);
}

static void test_a_rival_has_the_interface_of_its_device(Fixture *f, gconstpointer d)
{
	RdmadDevice *dev = add(f, "a");

	dev->n_netdevs = 0;
	dev->pf_link = 1;
	dev->ports[0].state = RDMAD_PORT_DOWN;
	rival_set(f, 0, "train", "rdma/rail");
	update(f);
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==,
			"held by ml/train as rdma/rail");
	g_array_index(f->members, PoolMember, 0).rival = NULL;
	update(f);
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==,
			"no port of it is active");
	dev->n_netdevs = 2;
}

static void test_a_device_that_leaves_has_no_rival(Fixture *f, gconstpointer d)
{
	add(f, "a");
	rival_set(f, 0, "train", "rdma/rail");
	update(f);
	g_array_set_size(f->members, 0);
	update(f);
	assert_slots(f, "a!");
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==, "it is gone");
}

static void test_a_device_that_is_deselected_is_not_gone(Fixture *f, gconstpointer d)
{
	add(f, "a");
	hold(f, "a", "a");
	update(f);
	g_array_set_size(f->members, 0);
	f->present = TRUE;
	update(f);
	assert_slots(f, "a!");
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==,
			"it is no longer selected");
	f->present = FALSE;
	update(f);
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==, "it is gone");
}

static void count_news(const PoolDevice *device, PoolNews news, gpointer data)
{
	++((guint *)data)[news];
}

static void test_another_rival_is_no_news(Fixture *f, gconstpointer d)
{
	guint news[2] = { 0 };

	add(f, "a");
	rival_set(f, 0, NULL, "rdma/rail");
	update(f);
	pool_take_news(f->pool, count_news, news);
	rival_set(f, 0, "train", "rdma/rail");
	update(f);
	pool_take_news(f->pool, count_news, news);
	g_assert_cmpstr(pool_device_problem(pool_device(f->pool, 0)), ==,
			"held by ml/train as rdma/rail");
	g_assert_cmpuint(news[POOL_NEWS_WITHHELD], ==, 1);
	g_array_index(f->members, PoolMember, 0).rival = NULL;
	update(f);
	pool_take_news(f->pool, count_news, news);
	g_assert_cmpuint(news[POOL_NEWS_WITHHELD], ==, 2);
	g_assert_cmpuint(news[POOL_NEWS_HEALTH], ==, 0);
}

static void test_news_are_told_once(Fixture *f, gconstpointer d)
{
	RdmadDevice *dev = add(f, "a");
	guint news[2] = { 0 };

	update(f);
	pool_take_news(f->pool, count_news, news);
	g_assert_cmpuint(news[POOL_NEWS_HEALTH], ==, 0);
	dev->ports[0].state = RDMAD_PORT_DOWN;
	update(f);
	pool_take_news(f->pool, count_news, news);
	pool_take_news(f->pool, count_news, news);
	g_assert_cmpuint(news[POOL_NEWS_HEALTH], ==, 1);
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
	TEST(EXCLUSIVE, slots_of_a_device_that_another_resource_holds_are_withheld),
	TEST(EXCLUSIVE, a_held_slot_is_never_withheld),
	TEST(THREE_PER, shared_slots_beside_an_exclusive_holder_are_withheld),
	TEST(CARELESS, ignored_health_leaves_slots_withheld),
	TEST(EXCLUSIVE, the_health_of_the_device_is_the_first_problem),
	TEST(EXCLUSIVE, a_rival_has_the_interface_of_its_device),
	TEST(EXCLUSIVE, a_device_that_leaves_has_no_rival),
	TEST(EXCLUSIVE, a_device_that_is_deselected_is_not_gone),
	TEST(EXCLUSIVE, another_rival_is_no_news),
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
