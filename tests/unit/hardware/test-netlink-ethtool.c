/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include "hardware/netlink/ethtool.h"
#include "netlink-message.h"
#include "../support/unit.h"

#define FAMILY	0x15
#define NOT_SET G_MAXUINT64

static void message_start(Message *msg, guint8 command)
{
	const struct genlmsghdr genl = { .cmd = command };

	message_init(msg, FAMILY, &genl, sizeof(genl));
}

static void pause_message(Message *msg, guint64 tx, guint64 rx)
{
	gsize nest;

	message_start(msg, ETHTOOL_MSG_PAUSE_GET_REPLY);
	message_add_u8(msg, ETHTOOL_A_PAUSE_RX, 1);
	nest = message_begin(msg, ETHTOOL_A_PAUSE_STATS);
	message_add_u64(msg, ETHTOOL_A_PAUSE_STAT_TX_FRAMES, tx);
	message_add_u64(msg, ETHTOOL_A_PAUSE_STAT_RX_FRAMES, rx);
	message_end(msg, nest);
}

static void test_pause_frames_are_counted_both_ways(void)
{
	RdmadEthtoolCounts counts = { .n = 0 };
	Message msg;

	pause_message(&msg, 7, G_MAXUINT32 + 1ull);
	rdmad_ethtool_parse_pause(&msg.hdr, &counts);
	g_assert_cmpuint(counts.n, ==, 2);
	g_assert_cmpstr(counts.counts[0].name, ==, "rx_frames");
	g_assert_cmpuint(counts.counts[0].value, ==, G_MAXUINT32 + 1ull);
	g_assert_cmpstr(counts.counts[1].name, ==, "tx_frames");
	g_assert_cmpuint(counts.counts[1].value, ==, 7);
}

static void test_what_a_driver_has_not_set_is_absent(void)
{
	RdmadEthtoolCounts counts = { .n = 0 };
	Message msg;

	pause_message(&msg, NOT_SET, 3);
	rdmad_ethtool_parse_pause(&msg.hdr, &counts);
	g_assert_cmpuint(counts.n, ==, 1);
	g_assert_cmpstr(counts.counts[0].name, ==, "rx_frames");
	g_assert_cmpuint(counts.counts[0].value, ==, 3);
}

static void fec_message(Message *msg, const guint64 *corrected, gsize n)
{
	const guint64 bits = 40;
	gsize nest;

	message_start(msg, ETHTOOL_MSG_FEC_GET_REPLY);
	nest = message_begin(msg, ETHTOOL_A_FEC_STATS);
	message_add_attr(msg, ETHTOOL_A_FEC_STAT_CORRECTED, corrected, n * sizeof(*corrected));
	/* The kernel's value for counters that the driver lacks. */
	message_add_attr(msg, ETHTOOL_A_FEC_STAT_UNCORR, NULL, 0);
	message_add_attr(msg, ETHTOOL_A_FEC_STAT_CORR_BITS, &bits, sizeof(bits));
	message_end(msg, nest);
}

static void test_the_sum_of_all_lanes_is_fec_s_value(void)
{
	static const guint64 lanes[] = { 100, 30, 70 };
	RdmadEthtoolCounts counts = { .n = 0 };
	Message msg;

	fec_message(&msg, lanes, G_N_ELEMENTS(lanes));
	rdmad_ethtool_parse_fec(&msg.hdr, &counts);
	g_assert_cmpuint(counts.n, ==, 2);
	g_assert_cmpstr(counts.counts[0].name, ==, "corr_bits");
	g_assert_cmpuint(counts.counts[0].value, ==, 40);
	g_assert_cmpstr(counts.counts[1].name, ==, "corrected");
	g_assert_cmpuint(counts.counts[1].value, ==, 100);
}

static void test_the_family_has_its_number(void)
{
	guint16 family = 0;
	const guint16 id = FAMILY;
	Message msg;

	message_start(&msg, CTRL_CMD_NEWFAMILY);
	message_add_attr(&msg, CTRL_ATTR_FAMILY_ID, &id, sizeof(id));
	rdmad_ethtool_parse_family(&msg.hdr, &family);
	g_assert_cmpuint(family, ==, FAMILY);
}

/* Each makes a valid message invalid. */
static void spoil_command(Message *msg)
{
	msg->bytes[NLMSG_HDRLEN] = ETHTOOL_MSG_RINGS_GET_REPLY;
}

static void spoil_short(Message *msg)
{
	msg->hdr.nlmsg_len = NLMSG_HDRLEN + 2;
}

static void spoil_nest(Message *msg)
{
	/* Ends within the first attribute. */
	msg->hdr.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN + 4;
	message_end(msg, NLMSG_HDRLEN + GENL_HDRLEN);
}

/* Shorter than a number. */
static void spoil_values(Message *msg)
{
	const guint32 small = 1;
	gsize nest;

	message_start(msg, ETHTOOL_MSG_FEC_GET_REPLY);
	nest = message_begin(msg, ETHTOOL_A_FEC_STATS);
	message_add_attr(msg, ETHTOOL_A_FEC_STAT_CORRECTED, &small, sizeof(small));
	message_end(msg, nest);
}

static void no_stats(Message *msg)
{
	message_start(msg, ETHTOOL_MSG_FEC_GET_REPLY);
	message_add_u8(msg, ETHTOOL_A_FEC_AUTO, 1);
}

static void test_malformed_messages_yield_nothing(void)
{
	static const guint64 sum[] = { 100 };
	static void (*const spoils[])(Message *) = { spoil_command, spoil_short, spoil_nest,
						     spoil_values, no_stats };

	for (gsize i = 0; i < G_N_ELEMENTS(spoils); i++) {
		RdmadEthtoolCounts counts = { .n = 0 };
		guint16 family = 0;
		Message msg;

		fec_message(&msg, sum, G_N_ELEMENTS(sum));
		spoils[i](&msg);
		rdmad_ethtool_parse_fec(&msg.hdr, &counts);
		rdmad_ethtool_parse_pause(&msg.hdr, &counts);
		rdmad_ethtool_parse_family(&msg.hdr, &family);
		g_assert_cmpuint(counts.n, ==, 0);
		g_assert_cmpuint(family, ==, 0);
	}
}

/* Every namespace has "lo", whose driver has neither. */
static void test_the_kernel_reports_an_interface_without_statistics(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_GENERIC, &error);
	RdmadEthtoolCounts counts = { .n = 0 };
	guint16 family;

	g_assert_no_error(error);
	family = rdmad_ethtool_get_family(nl, NULL);
	if (!family) {
		g_test_skip("this kernel has no ethtool netlink");
		return;
	}
	g_assert_false(rdmad_ethtool_get_pause(nl, family, "lo", &counts, &error));
	g_assert_cmpint(rdmad_netlink_errnum(nl), ==, EOPNOTSUPP);
	g_clear_error(&error);
	g_assert_false(rdmad_ethtool_get_fec(nl, family, "nosuchif0", &counts, &error));
	g_assert_cmpint(rdmad_netlink_errnum(nl), ==, ENODEV);
	g_assert_cmpuint(counts.n, ==, 0);
}

#define TEST(name) UNIT_TEST("/netlink-ethtool/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(pause_frames_are_counted_both_ways),
	TEST(what_a_driver_has_not_set_is_absent),
	TEST(the_sum_of_all_lanes_is_fec_s_value),
	TEST(the_family_has_its_number),
	TEST(malformed_messages_yield_nothing),
	TEST(the_kernel_reports_an_interface_without_statistics),
	{ 0 },
};
