/* SPDX-License-Identifier: Apache-2.0 */
/* GIDs as addresses, as NCCL treats them. */
#pragma once

#include <rdmad/device.h>

/* Returns AF_INET for an IPv4-mapped address, AF_INET6 for any other, including an empty entry (all
 * zero). */
int nccl_gid_family(const guint8 raw[16]);
/* Returns whether the GID is all zero: an empty entry of the table. */
gboolean nccl_gid_is_hole(const guint8 raw[16]);
/* Returns whether the GID is in fe80::/64, NCCL's definition. */
gboolean nccl_gid_is_link_local(const guint8 raw[16]);
/* Formats a GID as "192.0.2.7" or "2001:db8::7"; `text` has room for INET6_ADDRSTRLEN bytes. */
void nccl_gid_format(const guint8 raw[16], char text[46]);

/* Parses "192.0.2.7" or "192.0.2.7/24", and ignores the length; IPv4 becomes mapped. */
gboolean nccl_address_parse(const char *text, guint8 raw[16], GError **error);

/* A CIDR. */
typedef struct {
	int family;
	guint8 raw[16]; /* IPv4: mapped */
	guint length;	/* up to 32 or 128 */
} NcclRange;

/* Parses "192.0.2.0/24", or a plain address; RDMAD_ERROR_INVALID. */
gboolean nccl_range_parse(const char *text, NcclRange *range, GError **error);
gboolean nccl_range_has(const NcclRange *range, const guint8 raw[16]);
/* Returns the range of that prefix length around an address. */
NcclRange nccl_range_around(const guint8 raw[16], guint length);
/* g_free() */
char *nccl_range_format(const NcclRange *range);
