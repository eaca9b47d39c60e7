/* SPDX-License-Identifier: Apache-2.0 */
/* GIDs as addresses: what NCCL, and who configures it, ask of one. */
#pragma once

#include <rdmad/device.h>

/* AF_INET for an IPv4-mapped address, AF_INET6 for every other, a hole (all zero) included. */
int nccl_gid_family(const guint8 raw[16]);
/* All zero: an empty entry of the table. */
gboolean nccl_gid_is_hole(const guint8 raw[16]);
/* fe80::/64, as NCCL has it. */
gboolean nccl_gid_is_link_local(const guint8 raw[16]);
/* "192.0.2.7", "2001:db8::7"; `text` has room for INET6_ADDRSTRLEN bytes. */
void nccl_gid_format(const guint8 raw[16], char text[46]);

/* "192.0.2.7" or "192.0.2.7/24", whose length says nothing here; IPv4 becomes mapped. */
gboolean nccl_address_parse(const char *text, guint8 raw[16], GError **error);

/* A CIDR. */
typedef struct {
	int family;
	guint8 raw[16]; /* IPv4: mapped */
	guint length;	/* up to 32 or 128 */
} NcclRange;

/* "192.0.2.0/24", or an address alone; RDMAD_ERROR_INVALID. */
gboolean nccl_range_parse(const char *text, NcclRange *range, GError **error);
gboolean nccl_range_has(const NcclRange *range, const guint8 raw[16]);
/* The range of that length around an address. */
NcclRange nccl_range_around(const guint8 raw[16], guint length);
/* Freed by the caller. */
char *nccl_range_format(const NcclRange *range);
