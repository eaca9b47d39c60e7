/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the network and of links as plain values. */
#pragma once

#include <rdmad/types.h>

#define RDMAD_IP_TEXT  64 /* room for an address with its prefix */
#define RDMAD_MAC_TEXT 60 /* room for the 20 bytes of IPoIB */

/* An address, a network, or both; all bytes 0 (rdmad_ip_is_set() is FALSE): none. */
typedef struct {
	int family;	  /* AF_INET, AF_INET6; 0: none */
	guint8 bytes[16]; /* network order; those that the family has not are 0 */
	guint8 prefix;	  /* bits; 32 or 128 for a host */
} RdmadIp;

/* A link-layer address: 6 bytes, 20 for IPoIB; length 0: none. */
typedef struct {
	guint8 length;
	guint8 bytes[20];
} RdmadMac;

/* "192.0.2.7", "192.0.2.7/24", "2001:db8::/64"; without prefix it is that of a host.
 * RDMAD_ERROR_INVALID: malformed, or NULL; `ip` is cleared. */
RDMAD_API gboolean rdmad_ip_parse(const char *text, RdmadIp *ip, GError **error);
/* The prefix is left out where it is that of a host, and `with_prefix` is FALSE. */
RDMAD_API const char *rdmad_ip_text(const RdmadIp *ip, gboolean with_prefix,
				    char text[RDMAD_IP_TEXT]);
RDMAD_API gboolean rdmad_ip_is_set(const RdmadIp *ip);
RDMAD_API gboolean rdmad_ip_equal(const RdmadIp *a, const RdmadIp *b);
/* 32, 128; 0 for none. */
RDMAD_API guint8 rdmad_ip_bits(const RdmadIp *ip);
/* The network that `ip` is in: host bits cleared. */
RDMAD_API RdmadIp rdmad_ip_network(const RdmadIp *ip);
/* The address alone, with the prefix of a host. */
RDMAD_API RdmadIp rdmad_ip_host(const RdmadIp *ip);
/* Whether the host `ip` is in `network`; FALSE across families. */
RDMAD_API gboolean rdmad_ip_in(const RdmadIp *ip, const RdmadIp *network);
/* An interface may have it: neither the unspecified one, nor loopback, of a group, IPv4's class E and
 * broadcast, or IPv4 mapped into IPv6. */
RDMAD_API gboolean rdmad_ip_is_unicast(const RdmadIp *ip);
/* fe80::/10 and 169.254/16. */
RDMAD_API gboolean rdmad_ip_is_link_local(const RdmadIp *ip);

/* "0c:42:a1:00:00:01", any case; 6 or 20 bytes.  FALSE: malformed, `mac` is cleared. */
RDMAD_API gboolean rdmad_mac_parse(const char *text, RdmadMac *mac);
RDMAD_API const char *rdmad_mac_format(const RdmadMac *mac, char text[RDMAD_MAC_TEXT]);
RDMAD_API gboolean rdmad_mac_equal(const RdmadMac *a, const RdmadMac *b);

/* Whether the kernel takes `name` for an interface as it is: 1 to 15 bytes, neither "." nor "..",
 * without '/', ':', white space, control characters, or the '%' of a template.  Other names than those in
 * UTF-8 are not valid either: they cannot be written down in JSON. */
RDMAD_API gboolean rdmad_interface_name_is_valid(const char *name);
