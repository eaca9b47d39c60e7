/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/smc.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/socket.h>

#include "hardware/netlink/socket.h"

#define SOCKETS_MAX  65536u
#define STATE_LISTEN 10 /* net/smc/smc.h, enum smc_state */

static const char *const mode_names[] = {
	[RDMAD_SMC_SMCR] = "SMCR",
	[RDMAD_SMC_TCP] = "TCP",
	[RDMAD_SMC_SMCD] = "SMCD",
};

const char *rdmad_smc_mode_name(RdmadSmcMode mode)
{
	return mode_names[mode];
}

static const char *state_name(guint8 state)
{
	static const struct {
		guint8 state;
		const char *name;
	} names[] = {
		{ 1, "ACTIVE" },
		{ 2, "INIT" },
		{ 7, "CLOSED" },
		{ STATE_LISTEN, "LISTEN" },
		{ 20, "PEERCLOSEWAIT1" },
		{ 21, "PEERCLOSEWAIT2" },
		{ 22, "APPLCLOSEWAIT1" },
		{ 23, "APPLCLOSEWAIT2" },
		{ 24, "APPLFINCLOSEWAIT" },
		{ 25, "PEERFINCLOSEWAIT" },
		{ 26, "PEERABORTWAIT" },
		{ 27, "PROCESSABORT" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (names[i].state == state)
			return names[i].name;
	return "UNKNOWN";
}

/* ---- reasons: net/smc/smc_clc.h ---- */

static const struct {
	guint32 reason;
	const char *name, *text;
} reasons[] = {
	{ 0x01010000, "no-memory", "the kernel has not enough memory" },
	{ 0x02010000, "timeout", "the peer did not answer in time" },
	{ 0x03000000, "configuration", "the configuration of the two ends does not agree" },
	{ 0x03010000, "peer-without-smc", "the peer does not do SMC" },
	{ 0x03020000, "ipsec", "the connection uses IPsec" },
	{ 0x03030000, "no-device", "there is no SMC device for this connection" },
	{ 0x03030001, "no-device", "there is no SMC-D device for this connection" },
	{ 0x03030002, "no-device", "there is no SMC-R device for this connection" },
	{ 0x03030003, "no-device", "the devices of the two ends have no network in common" },
	{ 0x03030004, "no-device", "the peer has no SMC-Rv2 for this connection" },
	{ 0x03030005, "no-device", "there is no SMC-Dv2 device for this connection" },
	{ 0x03030006, "no-device", "the peer has no second version of SMC" },
	{ 0x03030007, "no-eid", "the two ends have no EID in common" },
	{ 0x03040000, "mode", "the two ends have different kinds of SMC" },
	{ 0x03050000, "rmb-eyecatcher", "the peer's buffer is not one of SMC" },
	{ 0x03060000, "fastopen", "a socket option is not supported by SMC" },
	{ 0x03070000, "ip-prefix", "the two ends are in different networks" },
	{ 0x03080000, "syn", "the socket could not be set up for SMC" },
	{ 0x03090000, "address-family", "the address is not an IPv4 one" },
	{ 0x030a0000, "release", "the two ends have different releases of SMC" },
	{ 0x030b0000, "max-connections", "the peer allows no more connections" },
	{ 0x04000000, "sync", "the two ends do not agree about their link" },
	{ 0x05000000, "peer-declined", "the peer declined SMC" },
	{ 0x09990000, "internal", "an error inside of the kernel" },
};

const char *rdmad_smc_reason_name(guint32 reason)
{
	for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
		if (reasons[i].reason == reason)
			return reasons[i].name;
	return "other";
}

const char *rdmad_smc_reason_text(guint32 reason)
{
	for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
		if (reasons[i].reason == reason)
			return reasons[i].text;
	return "for another reason";
}

/* ---- sockets ---- */

void rdmad_smc_socket_free(gpointer data)
{
	RdmadSmcSocket *socket = data;

	g_free(socket->local);
	g_free(socket->peer);
	g_free(socket);
}

static char *endpoint(guint8 family, const __be32 *address, __be16 port)
{
	char text[INET6_ADDRSTRLEN];

	if (!inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, address, text, sizeof(text)))
		return NULL;
	return g_strdup_printf(family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, ntohs(port));
}

static void reason_take(const struct nlmsghdr *msg, RdmadSmcSocket *socket)
{
	struct nlattr *attrs[SMC_DIAG_MAX + 1];
	struct smc_diag_fallback fallback;

	if (nlmsg_parse((struct nlmsghdr *)msg, sizeof(struct smc_diag_msg), attrs, SMC_DIAG_MAX,
			NULL) < 0 ||
	    !attrs[SMC_DIAG_FALLBACK] || nla_len(attrs[SMC_DIAG_FALLBACK]) < (int)sizeof(fallback))
		return;
	memcpy(&fallback, nla_data(attrs[SMC_DIAG_FALLBACK]), sizeof(fallback));
	socket->reason = fallback.reason;
	socket->peer_reason = fallback.peer_diagnosis;
}

static gboolean socket_each(const struct nlmsghdr *msg, gpointer data)
{
	GPtrArray *sockets = data;
	struct smc_diag_msg diag;
	RdmadSmcSocket *socket;

	if (nlmsg_datalen(msg) < (int)sizeof(diag))
		return TRUE;
	memcpy(&diag, nlmsg_data(msg), sizeof(diag));
	if (diag.diag_mode > RDMAD_SMC_SMCD)
		return TRUE;
	socket = g_new0(RdmadSmcSocket, 1);
	socket->state = state_name(diag.diag_state);
	socket->mode = (RdmadSmcMode)diag.diag_mode;
	socket->is_connection = diag.diag_state != STATE_LISTEN && diag.id.idiag_dport;
	socket->local = endpoint(diag.diag_family, diag.id.idiag_src, diag.id.idiag_sport);
	if (socket->is_connection)
		socket->peer = endpoint(diag.diag_family, diag.id.idiag_dst, diag.id.idiag_dport);
	socket->uid = diag.diag_uid;
	socket->inode = diag.diag_inode;
	if (socket->mode == RDMAD_SMC_TCP)
		reason_take(msg, socket);
	g_ptr_array_add(sockets, socket);
	return sockets->len < SOCKETS_MAX;
}

static void sockets_empty(gpointer data)
{
	GPtrArray *sockets = data;

	if (sockets->len)
		g_ptr_array_remove_range(sockets, 0, sockets->len);
}

GPtrArray *rdmad_smc_sockets_list(int diag, GError **error)
{
	const struct smc_diag_req request = {
		.diag_family = AF_SMC,
		.diag_ext = 1u << (SMC_DIAG_FALLBACK - 1),
	};
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_adopt(NETLINK_SOCK_DIAG, diag, error);
	g_autoptr(GPtrArray) sockets = g_ptr_array_new_with_free_func(rdmad_smc_socket_free);
	struct nl_msg *msg;

	if (!nl)
		return NULL;
	msg = nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	if (!msg || nlmsg_append(msg, (void *)&request, sizeof(request), NLMSG_ALIGNTO) < 0)
		g_error("out of memory");
	if (rdmad_netlink_ask_each(nl, msg, socket_each, sockets_empty, sockets, error))
		return g_steal_pointer(&sockets);
	if (rdmad_netlink_errnum(nl) == ENOENT) {
		g_clear_error(error);
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
				    "this kernel does not list sockets of SMC (module smc_diag)");
	}
	return NULL;
}
