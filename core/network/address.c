/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/address.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <rdmad/error.h>
#include <stdio.h>
#include <string.h>

static const guint8 MAPPED[12] = { [10] = 0xff, [11] = 0xff }; /* ::ffff:0:0/96 */

RdmadIp rdmad_ip_of_gid(const guint8 raw[16])
{
	const gboolean mapped = memcmp(raw, MAPPED, sizeof(MAPPED)) == 0;
	RdmadIp ip = { .family = mapped ? AF_INET : AF_INET6, .prefix = mapped ? 32 : 128 };

	memcpy(ip.bytes, mapped ? raw + sizeof(MAPPED) : raw, mapped ? 4 : 16);
	return ip;
}

guint8 rdmad_ip_bits(const RdmadIp *ip)
{
	return ip->family == AF_INET ? 32 : ip->family == AF_INET6 ? 128 : 0;
}

/* Parses up to three digits without a sign, so the value cannot overflow. */
static gboolean prefix_parse(const char *text, guint8 bits, guint8 *prefix)
{
	guint value = 0;

	if (!text[0] || strlen(text) > 3)
		return FALSE;
	for (; *text; text++) {
		if (!g_ascii_isdigit(*text))
			return FALSE;
		value = value * 10 + (guint)(*text - '0');
	}
	*prefix = (guint8)value;
	return value <= bits;
}

static gboolean ip_parse(const char *text, RdmadIp *ip)
{
	const char *slash = strchr(text, '/');
	const gsize length = slash ? (gsize)(slash - text) : strlen(text);
	char address[INET6_ADDRSTRLEN];

	if (length >= sizeof(address))
		return FALSE;
	memcpy(address, text, length);
	address[length] = '\0';
	ip->family = strchr(address, ':') ? AF_INET6 : AF_INET;
	ip->prefix = rdmad_ip_bits(ip);
	return inet_pton(ip->family, address, ip->bytes) == 1 &&
	       (!slash || prefix_parse(slash + 1, rdmad_ip_bits(ip), &ip->prefix));
}

gboolean rdmad_ip_parse(const char *text, RdmadIp *ip, GError **error)
{
	*ip = (RdmadIp){ 0 };
	if (text && ip_parse(text, ip))
		return TRUE;
	*ip = (RdmadIp){ 0 };
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "invalid IP address \"%.64s\"",
		    text ? text : "");
	return FALSE;
}

const char *rdmad_ip_text(const RdmadIp *ip, gboolean with_prefix, char text[RDMAD_IP_TEXT])
{
	text[0] = '\0';
	if (!rdmad_ip_is_set(ip) || !inet_ntop(ip->family, ip->bytes, text, RDMAD_IP_TEXT))
		return text;
	if (with_prefix || ip->prefix != rdmad_ip_bits(ip)) {
		const gsize length = strlen(text);

		snprintf(text + length, RDMAD_IP_TEXT - length, "/%u", ip->prefix);
	}
	return text;
}

gboolean rdmad_ip_is_set(const RdmadIp *ip)
{
	return ip->family != 0;
}

gboolean rdmad_ip_equal(const RdmadIp *a, const RdmadIp *b)
{
	return a->family == b->family && a->prefix == b->prefix &&
	       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

RdmadIp rdmad_ip_network(const RdmadIp *ip)
{
	RdmadIp network = *ip;

	for (guint bit = network.prefix; bit < rdmad_ip_bits(ip); bit++)
		network.bytes[bit / 8] &= (guint8) ~(0x80u >> bit % 8);
	return network;
}

RdmadIp rdmad_ip_host(const RdmadIp *ip)
{
	RdmadIp host = *ip;

	host.prefix = rdmad_ip_bits(ip);
	return host;
}

gboolean rdmad_ip_in(const RdmadIp *ip, const RdmadIp *network)
{
	RdmadIp of_ip = *ip;
	RdmadIp of_network = rdmad_ip_network(network);

	of_ip.prefix = network->prefix;
	of_ip = rdmad_ip_network(&of_ip);
	return rdmad_ip_is_set(ip) && rdmad_ip_equal(&of_ip, &of_network);
}

gboolean rdmad_ip_is_unicast(const RdmadIp *ip)
{
	static const guint8 none[15];

	if (ip->family == AF_INET)
		return ip->bytes[0] != 0 && ip->bytes[0] != 127 && ip->bytes[0] < 224;
	/* :: and ::1 */
	return ip->family == AF_INET6 && ip->bytes[0] != 0xff &&
	       !(memcmp(ip->bytes, none, sizeof(none)) == 0 && ip->bytes[15] <= 1) &&
	       memcmp(ip->bytes, MAPPED, sizeof(MAPPED)) != 0;
}

gboolean rdmad_ip_is_link_local(const RdmadIp *ip)
{
	if (ip->family == AF_INET)
		return ip->bytes[0] == 169 && ip->bytes[1] == 254;
	return ip->family == AF_INET6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

static gboolean mac_parse(const char *text, RdmadMac *mac)
{
	const gsize length = strlen(text);

	if (length != 17 && length != 59)
		return FALSE;
	for (gsize i = 0; i < length; i += 3) {
		if (!g_ascii_isxdigit(text[i]) || !g_ascii_isxdigit(text[i + 1]) ||
		    text[i + 2] != (i + 2 < length ? ':' : '\0'))
			return FALSE;
		mac->bytes[mac->length++] = (guint8)(g_ascii_xdigit_value(text[i]) << 4 |
						     g_ascii_xdigit_value(text[i + 1]));
	}
	return TRUE;
}

gboolean rdmad_mac_parse(const char *text, RdmadMac *mac)
{
	*mac = (RdmadMac){ 0 };
	if (text && mac_parse(text, mac))
		return TRUE;
	*mac = (RdmadMac){ 0 };
	return FALSE;
}

const char *rdmad_mac_format(const RdmadMac *mac, char text[RDMAD_MAC_TEXT])
{
	text[0] = '\0';
	for (guint i = 0; i < mac->length && i < sizeof(mac->bytes); i++)
		snprintf(text + (i ? 3 * i - 1 : 0), 4, "%s%02x", i ? ":" : "", mac->bytes[i]);
	return text;
}

gboolean rdmad_mac_equal(const RdmadMac *a, const RdmadMac *b)
{
	return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

gboolean rdmad_interface_name_is_valid(const char *name)
{
	const gsize length = name ? strlen(name) : 0;

	if (!length || length >= IF_NAMESIZE || !g_utf8_validate(name, -1, NULL) ||
	    g_str_equal(name, ".") || g_str_equal(name, ".."))
		return FALSE;
	for (; *name; name++)
		if (strchr("/:%", *name) || g_ascii_isspace(*name) || g_ascii_iscntrl(*name))
			return FALSE;
	return TRUE;
}
