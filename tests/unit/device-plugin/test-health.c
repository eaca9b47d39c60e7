/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "health.h"
#include "../support/unit.h"

#define SECOND G_USEC_PER_SEC

/* State of the one port and its interface, and a fault of the device. */
static const struct {
	int state, phys_state, carrier;
	RdmadLinkLayer link_layer;
	const char *master, *problem;
} cases[] = {
	{ RDMAD_PORT_ACTIVE, 5, 1, RDMAD_LINK_LAYER_ETHERNET, NULL, NULL },
	{ RDMAD_PORT_ACTIVE_DEFER, 5, 1, RDMAD_LINK_LAYER_ETHERNET, NULL, NULL },
	{ RDMAD_PORT_ACTIVE, RDMAD_UNKNOWN, RDMAD_UNKNOWN, RDMAD_LINK_LAYER_ETHERNET, NULL, NULL },
	{ RDMAD_PORT_ACTIVE, 0, 1, RDMAD_LINK_LAYER_ETHERNET, NULL, NULL },
	{ RDMAD_PORT_INIT, 5, 1, RDMAD_LINK_LAYER_INFINIBAND, NULL, "no port of it is active" },
	{ RDMAD_PORT_DOWN, 3, 0, RDMAD_LINK_LAYER_ETHERNET, NULL, "no port of it is active" },
	{ RDMAD_UNKNOWN, 5, 1, RDMAD_LINK_LAYER_ETHERNET, NULL, "no port of it is active" },
	{ RDMAD_PORT_ACTIVE, 2, 1, RDMAD_LINK_LAYER_INFINIBAND, NULL,
	  "its port has no physical link" },
	{ RDMAD_PORT_ACTIVE, 6, 1, RDMAD_LINK_LAYER_INFINIBAND, NULL,
	  "its port has no physical link" },
	{ RDMAD_PORT_ACTIVE, 5, 0, RDMAD_LINK_LAYER_ETHERNET, NULL,
	  "its interface has no carrier" },
	{ RDMAD_PORT_ACTIVE, 5, 0, RDMAD_LINK_LAYER_ETHERNET, "bond0", NULL },
	{ RDMAD_PORT_ACTIVE, 5, 0, RDMAD_LINK_LAYER_INFINIBAND, NULL, NULL },
};

static RdmadDevice *device_of_case(guint i)
{
	RdmadDevice *dev = fixture_device("0000:3b:00.0", "mlx5_0", 0);

	dev->ports[0].state = cases[i].state;
	dev->ports[0].phys_state = cases[i].phys_state;
	dev->ports[0].link_layer = cases[i].link_layer;
	dev->ports[0].netdev = g_strdup(dev->netdevs[0].name);
	dev->netdevs[0].carrier = cases[i].carrier;
	dev->netdevs[0].master = g_strdup(cases[i].master);
	return dev;
}

static void test_a_port_is_good_when_nothing_speaks_against_it(void)
{
	const Selector all = { 0 };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		RdmadDevice *dev = device_of_case(i);

		g_test_message("case %u", i);
		g_assert_cmpstr(health_problem(dev, &all, HEALTH_ALONE), ==, cases[i].problem);
		rdmad_device_unref(dev);
	}
}

static void test_one_good_port_is_enough_and_the_best_bad_one_speaks(void)
{
	const Selector all = { 0 };
	RdmadDevice *dev = fixture_device("0000:3b:00.0", "mlx5_0", 0);
	RdmadPort *first = dev->ports;

	dev->n_ports = 2;
	dev->ports = g_new0(RdmadPort, 2);
	dev->ports[0] = *first;
	g_free(first);
	dev->ports[1].state = RDMAD_PORT_DOWN;
	g_assert_null(health_problem(dev, &all, HEALTH_ALONE));
	dev->ports[0].phys_state = 3;
	g_assert_cmpstr(health_problem(dev, &all, HEALTH_ALONE), ==,
			"its port has no physical link");
	dev->ports[1].state = RDMAD_PORT_ACTIVE;
	g_assert_null(health_problem(dev, &all, HEALTH_ALONE));
	rdmad_device_unref(dev);
}

static void test_a_device_at_rest_is_for_one_container_alone(void)
{
	const Selector all = { 0 };
	RdmadDevice *dev = fixture_device("0000:3b:00.2", "mlx5_2", 0);

	dev->ports[0].state = RDMAD_PORT_DOWN;
	dev->ports[0].phys_state = RDMAD_PHYS_DISABLED;
	dev->ports[0].netdev = g_strdup(dev->netdevs[0].name);
	dev->netdevs[0].up = 0;
	g_assert_null(health_problem(dev, &all, HEALTH_ALONE));
	g_assert_cmpstr(health_problem(dev, &all, HEALTH_SHARED), ==,
			"its interface is not set up");
	g_assert_cmpstr(health_rest(dev, &all), ==, "its interface is not set up");
	dev->netdevs[0].up = 1;
	g_assert_nonnull(health_problem(dev, &all, HEALTH_ALONE));
	g_assert_null(health_rest(dev, &all));
	rdmad_device_unref(dev);
}

static void test_a_virtual_function_in_its_pod_is_set_up_there(void)
{
	static const struct {
		int pf_link;
		guint n_netdevs;
		gboolean fatal, verbs;
		const char *problem;
	} held[] = {
		{ 1, 0, FALSE, TRUE, NULL },
		{ 0, 0, FALSE, TRUE, "the link of its physical function is down" },
		{ RDMAD_UNKNOWN, 0, FALSE, TRUE, "no port of it is active" },
		{ 1, 2, FALSE, TRUE, "no port of it is active" },
		{ 1, 0, TRUE, TRUE, "its driver reports a fatal error" },
		{ 1, 0, FALSE, FALSE, "it has no uverbs device file (is ib_uverbs loaded?)" },
	};
	const Selector all = { 0 };

	for (guint i = 0; i < G_N_ELEMENTS(held); i++) {
		RdmadDevice *dev = fixture_device("0000:3b:00.2", "mlx5_2", 0);
		const guint n_chardevs = dev->n_chardevs;

		dev->ports[0].state = RDMAD_PORT_DOWN;
		dev->ports[0].phys_state = RDMAD_PHYS_DISABLED;
		dev->pf_link = held[i].pf_link;
		dev->fatal = held[i].fatal;
		dev->n_netdevs = held[i].n_netdevs;
		dev->n_chardevs = held[i].verbs ? n_chardevs : 0;
		g_assert_cmpstr(health_problem(dev, &all, HEALTH_HELD), ==, held[i].problem);
		g_assert_nonnull(health_problem(dev, &all, HEALTH_ALONE));
		g_assert_nonnull(health_problem(dev, &all, HEALTH_SHARED));
		dev->n_netdevs = 2;
		dev->n_chardevs = n_chardevs;
		rdmad_device_unref(dev);
	}
}

static gint64 fall_and_rise(Health *health, gint64 now_us)
{
	gint64 wait_us;

	health_update(health, "bad", now_us, SECOND);
	wait_us = health_update(health, NULL, now_us, SECOND);
	g_assert_cmpint(health_update(health, NULL, now_us + wait_us, SECOND), ==, 0);
	g_assert_null(health->problem);
	return wait_us;
}

static void test_a_device_that_flaps_waits_longer_each_time(void)
{
	Health health = { 0 };
	gint64 now_us = 1000 * SECOND;

	health_update(&health, NULL, now_us, SECOND);
	for (guint i = 0; i < 10; i++) {
		const gint64 expected = SECOND << MIN(i, 6);

		g_assert_cmpint(fall_and_rise(&health, now_us), ==, expected);
		now_us += expected + 50 * SECOND;
	}
	g_assert_cmpint(fall_and_rise(&health, now_us + 60 * SECOND), ==, SECOND);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/health/a_port_is_good_when_nothing_speaks_against_it",
		  test_a_port_is_good_when_nothing_speaks_against_it),
	UNIT_TEST("/health/one_good_port_is_enough_and_the_best_bad_one_speaks",
		  test_one_good_port_is_enough_and_the_best_bad_one_speaks),
	UNIT_TEST("/health/a_device_at_rest_is_for_one_container_alone",
		  test_a_device_at_rest_is_for_one_container_alone),
	UNIT_TEST("/health/a_virtual_function_in_its_pod_is_set_up_there",
		  test_a_virtual_function_in_its_pod_is_set_up_there),
	UNIT_TEST("/health/a_device_that_flaps_waits_longer_each_time",
		  test_a_device_that_flaps_waits_longer_each_time),
	{ 0 },
};
