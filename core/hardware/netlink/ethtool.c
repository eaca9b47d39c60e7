/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/ethtool.h"

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdmad/error.h>

#include "hardware/scan/value.h"

/* The value of a counter that the driver did not set (net/ethtool/netlink.h). */
#define NOT_SET G_MAXUINT64

typedef void (*ParseCounts)(const struct nlmsghdr *msg, RdmadEthtoolCounts *counts);

/* A kind of query, with the numbers of its attributes. */
typedef struct {
	guint8 command;
	int header;
	ParseCounts parse;
} Query;

static gboolean message_parse(const struct nlmsghdr *msg, guint8 command, struct nlattr **attrs,
			      int max)
{
	const struct genlmsghdr *genl = nlmsg_data(msg);

	if (nlmsg_datalen(msg) < (int)GENL_HDRLEN || genl->cmd != command)
		return FALSE;
	return nlmsg_parse((struct nlmsghdr *)msg, GENL_HDRLEN, attrs, max, NULL) >= 0;
}

static void counts_add(RdmadEthtoolCounts *counts, const char *name, guint64 value)
{
	if (value == NOT_SET || counts->n == G_N_ELEMENTS(counts->counts))
		return;
	counts->counts[counts->n++] = (RdmadEthtoolCount){ name, value };
}

static guint64 attr_u64(struct nlattr *attr)
{
	return attr && nla_len(attr) == sizeof(guint64) ? nla_get_u64(attr) : NOT_SET;
}

void rdmad_ethtool_parse_pause(const struct nlmsghdr *msg, RdmadEthtoolCounts *counts)
{
	struct nlattr *attrs[ETHTOOL_A_PAUSE_MAX + 1], *stats[ETHTOOL_A_PAUSE_STAT_MAX + 1];

	if (!message_parse(msg, ETHTOOL_MSG_PAUSE_GET_REPLY, attrs, ETHTOOL_A_PAUSE_MAX) ||
	    !attrs[ETHTOOL_A_PAUSE_STATS] ||
	    nla_parse_nested(stats, ETHTOOL_A_PAUSE_STAT_MAX, attrs[ETHTOOL_A_PAUSE_STATS], NULL) <
		    0)
		return;
	counts_add(counts, "rx_frames", attr_u64(stats[ETHTOOL_A_PAUSE_STAT_RX_FRAMES]));
	counts_add(counts, "tx_frames", attr_u64(stats[ETHTOOL_A_PAUSE_STAT_TX_FRAMES]));
}

/* The first element is the sum, the others are the lanes; an empty array means that the driver
 * does not count. */
static guint64 attr_sum(struct nlattr *attr)
{
	guint64 sum;

	if (!attr || nla_len(attr) < (int)sizeof(sum))
		return NOT_SET;
	/* Attributes are aligned to only four bytes. */
	nla_memcpy(&sum, attr, sizeof(sum));
	return sum;
}

void rdmad_ethtool_parse_fec(const struct nlmsghdr *msg, RdmadEthtoolCounts *counts)
{
	struct nlattr *attrs[ETHTOOL_A_FEC_MAX + 1], *stats[ETHTOOL_A_FEC_STAT_MAX + 1];

	if (!message_parse(msg, ETHTOOL_MSG_FEC_GET_REPLY, attrs, ETHTOOL_A_FEC_MAX) ||
	    !attrs[ETHTOOL_A_FEC_STATS] ||
	    nla_parse_nested(stats, ETHTOOL_A_FEC_STAT_MAX, attrs[ETHTOOL_A_FEC_STATS], NULL) < 0)
		return;
	counts_add(counts, "corr_bits", attr_sum(stats[ETHTOOL_A_FEC_STAT_CORR_BITS]));
	counts_add(counts, "corrected", attr_sum(stats[ETHTOOL_A_FEC_STAT_CORRECTED]));
	counts_add(counts, "uncorr", attr_sum(stats[ETHTOOL_A_FEC_STAT_UNCORR]));
}

void rdmad_ethtool_parse_family(const struct nlmsghdr *msg, guint16 *family)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];

	if (!message_parse(msg, CTRL_CMD_NEWFAMILY, attrs, CTRL_ATTR_MAX) ||
	    !attrs[CTRL_ATTR_FAMILY_ID] || nla_len(attrs[CTRL_ATTR_FAMILY_ID]) != sizeof(*family))
		return;
	*family = nla_get_u16(attrs[CTRL_ATTR_FAMILY_ID]);
}

static struct nl_msg *request_new(guint16 family, guint8 command, guint8 version)
{
	struct genlmsghdr genl = { .cmd = command, .version = version };
	struct nl_msg *msg = nlmsg_alloc_simple(family, NLM_F_ACK);

	if (!msg || nlmsg_append(msg, &genl, sizeof(genl), NLMSG_ALIGNTO) < 0)
		g_error("out of memory");
	return msg;
}

static gboolean family_each(const struct nlmsghdr *msg, gpointer data)
{
	rdmad_ethtool_parse_family(msg, data);
	return TRUE;
}

static void family_restart(gpointer data)
{
	*(guint16 *)data = 0;
}

guint16 rdmad_ethtool_get_family(RdmadNetlink *nl, GError **error)
{
	struct nl_msg *msg = request_new(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	guint16 family = 0;

	nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
	if (!rdmad_netlink_ask_each(nl, msg, family_each, family_restart, &family, error))
		return 0;
	if (!family)
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
				    "netlink: this kernel has no ethtool netlink");
	return family;
}

typedef struct {
	ParseCounts parse;
	RdmadEthtoolCounts *counts;
} Answer;

static gboolean answer_each(const struct nlmsghdr *msg, gpointer data)
{
	const Answer *answer = data;

	answer->parse(msg, answer->counts);
	return TRUE;
}

static void answer_restart(gpointer data)
{
	((const Answer *)data)->counts->n = 0;
}

static gboolean counts_get(RdmadNetlink *nl, guint16 family, const char *netdev, const Query *query,
			   RdmadEthtoolCounts *counts, GError **error)
{
	struct nl_msg *msg = request_new(family, query->command, ETHTOOL_GENL_VERSION);
	struct nlattr *header = nla_nest_start(msg, query->header);
	Answer answer = { query->parse, counts };

	g_assert(rdmad_sysfs_is_netdev_name(netdev));
	nla_put_string(msg, ETHTOOL_A_HEADER_DEV_NAME, netdev);
	nla_put_u32(msg, ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_STATS);
	nla_nest_end(msg, header);
	return rdmad_netlink_ask_each(nl, msg, answer_each, answer_restart, &answer, error);
}

gboolean rdmad_ethtool_get_pause(RdmadNetlink *nl, guint16 family, const char *netdev,
				 RdmadEthtoolCounts *counts, GError **error)
{
	static const Query query = { ETHTOOL_MSG_PAUSE_GET, ETHTOOL_A_PAUSE_HEADER,
				     rdmad_ethtool_parse_pause };

	return counts_get(nl, family, netdev, &query, counts, error);
}

gboolean rdmad_ethtool_get_fec(RdmadNetlink *nl, guint16 family, const char *netdev,
			       RdmadEthtoolCounts *counts, GError **error)
{
	static const Query query = { ETHTOOL_MSG_FEC_GET, ETHTOOL_A_FEC_HEADER,
				     rdmad_ethtool_parse_fec };

	return counts_get(nl, family, netdev, &query, counts, error);
}
