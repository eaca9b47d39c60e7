/* SPDX-License-Identifier: Apache-2.0 */
#include "gid.h"

#include <arpa/inet.h>
#include <rdmad/error.h>
#include <string.h>

#define MAPPED_BITS 96u

static const guint8 MAPPED[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
/* ff0e::ffff:a.b.c.d: multicast, which NCCL counts as IPv4. */
static const guint8 MAPPED_MULTICAST[12] = { 0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
static const guint8 LINK_LOCAL[8] = { 0xfe, 0x80 };
static const guint8 HOLE[16];

int nccl_gid_family(const guint8 raw[16])
{
	return !memcmp(raw, MAPPED, sizeof(MAPPED)) ||
			       !memcmp(raw, MAPPED_MULTICAST, sizeof(MAPPED_MULTICAST))
		       ? AF_INET
		       : AF_INET6;
}

gboolean nccl_gid_is_hole(const guint8 raw[16])
{
	return !memcmp(raw, HOLE, sizeof(HOLE));
}

gboolean nccl_gid_is_link_local(const guint8 raw[16])
{
	return !memcmp(raw, LINK_LOCAL, sizeof(LINK_LOCAL));
}

void nccl_gid_format(const guint8 raw[16], char text[46])
{
	const gboolean ipv4 = nccl_gid_family(raw) == AF_INET;

	inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? raw + 12 : raw, text, 46);
}

/* ---- ranges ---- */

static gboolean address_parse(const char *text, int *family, guint8 raw[16])
{
	if (inet_pton(AF_INET, text, raw + 12) == 1) {
		memcpy(raw, MAPPED, sizeof(MAPPED));
		*family = AF_INET;
		return TRUE;
	}
	*family = AF_INET6;
	return inet_pton(AF_INET6, text, raw) == 1;
}

gboolean nccl_address_parse(const char *text, guint8 raw[16], GError **error)
{
	g_autofree char *address = g_strndup(text, strcspn(text, "/"));
	int family;

	if (address_parse(address, &family, raw))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "\"%s\" is not an address", text);
	return FALSE;
}

gboolean nccl_range_parse(const char *text, NcclRange *range, GError **error)
{
	const char *slash = strchr(text, '/');
	g_autofree char *address = slash ? g_strndup(text, slash - text) : g_strdup(text);
	guint64 length = 0;
	guint longest;

	if (address_parse(address, &range->family, range->raw)) {
		longest = range->family == AF_INET ? 32 : 128;
		if (!slash)
			length = longest;
		if (!slash ||
		    g_ascii_string_to_unsigned(slash + 1, 10, 0, longest, &length, NULL)) {
			*range = nccl_range_around(range->raw, length);
			return TRUE;
		}
	}
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "\"%s\" is not an address range: write \"192.0.2.0/24\" or \"2001:db8::/64\"",
		    text);
	return FALSE;
}

static guint significant_bits(const NcclRange *range)
{
	return range->family == AF_INET ? MAPPED_BITS + range->length : range->length;
}

gboolean nccl_range_has(const NcclRange *range, const guint8 raw[16])
{
	const guint bits = significant_bits(range), bytes = bits / 8, rest = bits % 8;

	return !memcmp(range->raw, raw, bytes) &&
	       (!rest || !((range->raw[bytes] ^ raw[bytes]) >> (8 - rest)));
}

NcclRange nccl_range_around(const guint8 raw[16], guint length)
{
	NcclRange range = { .family = nccl_gid_family(raw), .length = length };
	const guint bits = significant_bits(&range);

	for (guint i = 0; i < 16; i++) {
		const guint left = bits > i * 8 ? MIN(bits - i * 8, 8u) : 0;

		range.raw[i] = raw[i] & (guint8)(0xff00u >> left);
	}
	return range;
}

char *nccl_range_format(const NcclRange *range)
{
	char text[INET6_ADDRSTRLEN];

	if (range->family == AF_INET)
		inet_ntop(AF_INET, range->raw + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, range->raw, text, sizeof(text));
	return g_strdup_printf("%s/%u", text, range->length);
}
