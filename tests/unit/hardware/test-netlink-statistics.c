/* SPDX-License-Identifier: Apache-2.0 */
#include <rdma/rdma_netlink.h>

#include "hardware/netlink/rdma.h"
#include "netlink-message.h"
#include "../support/unit.h"

#define TYPE RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET)

static void add_counter(Message *msg, const char *name, gsize name_size, const void *value,
			gsize value_size)
{
	const gsize entry = message_begin(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);

	if (name)
		message_add_attr(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name, name_size);
	if (value)
		message_add_attr(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value,
				 value_size);
	message_end(msg, entry);
}

static gsize begin(Message *msg)
{
	message_init(msg, TYPE, NULL, 0);
	message_add_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	message_add_text(msg, RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	message_add_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	return message_begin(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
}

static void print_counter(const char *name, guint64 value, gpointer data)
{
	g_string_append_printf(data, "%s=%" G_GUINT64_FORMAT ";", name, value);
}

static void assert_parsed(const Message *msg, const char *expected)
{
	g_autoptr(GString) seen = g_string_new(NULL);

	rdmad_nldev_parse_statistics(&msg->hdr, print_counter, seen);
	g_assert_cmpstr(seen->str, ==, expected);
}

static void test_names_and_values_come_in_the_drivers_order(void)
{
	const guint64 sent = 12, largest = G_MAXUINT64;
	Message msg;
	const gsize table = begin(&msg);

	add_counter(&msg, "sent_pkts", 10, &sent, sizeof(sent));
	add_counter(&msg, "ack_deferred", 13, &largest, sizeof(largest));
	message_end(&msg, table);
	assert_parsed(&msg, "sent_pkts=12;ack_deferred=18446744073709551615;");
}

static void test_a_malformed_counter_is_left_out_alone(void)
{
	static const guint64 value = 7;
	static const char long_name[300] = { [0 ... 298] = 'x' };
	static const struct {
		const char *name;
		gsize name_size;
		const void *value;
		gsize value_size;
	} bad[] = {
		{ NULL, 0, &value, 8 },
		{ "", 1, &value, 8 },
		{ "", 0, &value, 8 },
		{ "no_end", 6, &value, 8 },
		{ long_name, sizeof(long_name), &value, 8 },
		{ "no_value", 9, NULL, 0 },
		{ "short", 6, &value, 4 },
		{ "none", 5, &value, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		Message msg;
		const gsize table = begin(&msg);

		add_counter(&msg, bad[i].name, bad[i].name_size, bad[i].value, bad[i].value_size);
		add_counter(&msg, "good", 5, &value, sizeof(value));
		message_end(&msg, table);
		assert_parsed(&msg, "good=7;");
	}
}

static void test_other_messages_are_ignored(void)
{
	const guint64 value = 7;
	Message msg;
	gsize table = begin(&msg);

	message_end(&msg, table);
	assert_parsed(&msg, "");
	message_init(&msg, TYPE, NULL, 0);
	assert_parsed(&msg, "");
	table = begin(&msg);
	add_counter(&msg, "good", 5, &value, sizeof(value));
	message_end(&msg, table);
	msg.hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET);
	assert_parsed(&msg, "");
}

#define TEST(name) UNIT_TEST("/netlink-statistics/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(names_and_values_come_in_the_drivers_order),
	TEST(a_malformed_counter_is_left_out_alone),
	TEST(other_messages_are_ignored),
	{ 0 },
};
