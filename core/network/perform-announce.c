/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gratuitous ARP (RFC 5227) and unsolicited neighbour advertisements (RFC 4861), from the namespace
 * of this thread.  Nobody may hear them, so errors are ignored.
 *
 * The kernel sends its own (arp_notify, ndisc_notify) when a link is set up.  A moved NIC has no
 * carrier at that moment, so they are lost.  It repeats them when the MAC address is set, and then
 * removes the GIDs of the link and adds them again.  A probe of a neighbour announces one address
 * of a network alone.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/socket.h>

#include "network/perform.h"

#define HOP_LIMIT 255

static gboolean arp_send(int index, const guint8 mac[ETH_ALEN], const RdmadIp *ip)
{
	rdmad_autofd int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ARP),
				  .sll_ifindex = index,
				  .sll_halen = ETH_ALEN };
	struct ether_arp arp = { .ea_hdr = { .ar_hrd = htons(ARPHRD_ETHER),
					     .ar_pro = htons(ETH_P_IP),
					     .ar_hln = ETH_ALEN,
					     .ar_pln = 4,
					     .ar_op = htons(ARPOP_REQUEST) } };

	memset(to.sll_addr, 0xff, ETH_ALEN);
	memcpy(arp.arp_sha, mac, ETH_ALEN);
	memcpy(arp.arp_spa, ip->bytes, 4);
	memcpy(arp.arp_tpa, ip->bytes, 4);
	return fd >= 0 && sendto(fd, &arp, sizeof(arp), 0, (struct sockaddr *)&to, sizeof(to)) >= 0;
}

static gboolean advertisement_send(int index, const guint8 mac[ETH_ALEN], const RdmadIp *ip)
{
	rdmad_autofd int fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6);
	const int hops = HOP_LIMIT;
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_scope_id = (guint32)index };
	struct {
		struct nd_neighbor_advert head;
		struct nd_opt_hdr option;
		guint8 mac[ETH_ALEN];
	} packet = { .head = { .nd_na_type = ND_NEIGHBOR_ADVERT,
			       .nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE },
		     .option = { ND_OPT_TARGET_LINKADDR, 1 } };

	inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);
	memcpy(&packet.head.nd_na_target, ip->bytes, 16);
	memcpy(packet.mac, mac, ETH_ALEN);
	return fd >= 0 &&
	       setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops)) == 0 &&
	       sendto(fd, &packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to)) >= 0;
}

gboolean perform_announce(RdmadNetwork *net, const RdmadStepAnnounce *announce, GError **error)
{
	g_autoptr(RdmadLink) link = rdmad_link_get(net, announce->link, error);
	RdmadMac mac = { 0 };

	if (!link)
		return FALSE;
	if (!link->mac || !rdmad_mac_parse(link->mac, &mac) || mac.length != ETH_ALEN)
		return TRUE;
	for (guint i = 0; i < announce->count; i++)
		if (!(announce->ip.family == AF_INET ? arp_send : advertisement_send)(
			    link->ifindex, mac.bytes, &announce->ip))
			break;
	return TRUE;
}
