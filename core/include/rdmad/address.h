/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses and link-layer addresses as plain values */
#pragma once

#include <rdmad/types.h>

#define RDMAD_IP_TEXT  64 /* room for an address with its prefix */
#define RDMAD_MAC_TEXT 60 /* room for the 20 bytes of IPoIB */

/* An IP address, a network, or both.  All bytes are 0 if it is not set (rdmad_ip_is_set()). */
typedef struct {
	int family;	  /* AF_INET, AF_INET6; 0: not set */
	guint8 bytes[16]; /* network byte order; bytes after the address are 0 */
	guint8 prefix;	  /* length in bits; of a host 32 or 128 */
} RdmadIp;

/* A link-layer address: 6 bytes, 20 for IPoIB; `length` is 0 if it is not set. */
typedef struct {
	guint8 length;
	guint8 bytes[20];
} RdmadMac;

/* Parses "192.0.2.7", "192.0.2.7/24" or "2001:db8::/64".  The default prefix is that of a host.
 * RDMAD_ERROR_INVALID: `text` is malformed or NULL; `ip` is cleared. */
RDMAD_API gboolean rdmad_ip_parse(const char *text, RdmadIp *ip, GError **error);
/* Formats `ip` into `text`, and returns `text`: "" if `ip` is not set.  The prefix of a host is
 * omitted unless `with_prefix` is TRUE. */
RDMAD_API const char *rdmad_ip_text(const RdmadIp *ip, gboolean with_prefix,
				    char text[RDMAD_IP_TEXT]);
RDMAD_API gboolean rdmad_ip_is_set(const RdmadIp *ip);
RDMAD_API gboolean rdmad_ip_equal(const RdmadIp *a, const RdmadIp *b);
/* Returns the address of a GID, without a prefix: IPv4 if it is mapped into IPv6, else IPv6. */
RDMAD_API RdmadIp rdmad_ip_of_gid(const guint8 raw[16]);
/* Returns the length of the family's addresses, 32 or 128 bits, or 0 if `ip` is not set. */
RDMAD_API guint8 rdmad_ip_bits(const RdmadIp *ip);
/* Returns the network of `ip`: its host bits are cleared. */
RDMAD_API RdmadIp rdmad_ip_network(const RdmadIp *ip);
/* Returns the address with the prefix of a host. */
RDMAD_API RdmadIp rdmad_ip_host(const RdmadIp *ip);
/* Returns whether the address `ip`, whatever its prefix, is in `network`; FALSE if the families
 * differ. */
RDMAD_API gboolean rdmad_ip_in(const RdmadIp *ip, const RdmadIp *network);
/* Returns whether an interface may have the address.  It must not be in 0/8, loopback, multicast,
 * IPv4's class E or broadcast, "::", or IPv4 mapped into IPv6. */
RDMAD_API gboolean rdmad_ip_is_unicast(const RdmadIp *ip);
/* Returns whether the address is in fe80::/10 or 169.254/16. */
RDMAD_API gboolean rdmad_ip_is_link_local(const RdmadIp *ip);

/* Parses "0c:42:a1:00:00:01", of 6 or 20 bytes, in upper or lower case.  Returns FALSE, and clears
 * `mac`, if `text` is malformed or NULL. */
RDMAD_API gboolean rdmad_mac_parse(const char *text, RdmadMac *mac);
/* Formats `mac` in lower case into `text`, and returns `text`: "" if `mac` is not set. */
RDMAD_API const char *rdmad_mac_format(const RdmadMac *mac, char text[RDMAD_MAC_TEXT]);
RDMAD_API gboolean rdmad_mac_equal(const RdmadMac *a, const RdmadMac *b);

/* Returns whether the kernel accepts `name` literally as an interface name: 1 to 15 bytes, neither
 * "." nor "..", without '/', ':', white space, control characters, or the '%' of a template.  The
 * name must also be UTF-8, because JSON cannot contain other names.  FALSE if `name` is NULL. */
RDMAD_API gboolean rdmad_interface_name_is_valid(const char *name);
