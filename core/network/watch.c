/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/rtnetlink.h>
#include <rdmad/network.h>
#include <string.h>

#include "hardware/netlink/events.h"

/* Routes of the kernel's own table come and go with addresses; cached ones are not
 * configuration. */
static gboolean message_matters(const char *message, gsize size)
{
	struct nlmsghdr header;
	struct rtmsg route;

	if (size < NLMSG_SPACE(sizeof(route)))
		return TRUE;
	memcpy(&header, message, sizeof(header));
	if (header.nlmsg_type != RTM_NEWROUTE && header.nlmsg_type != RTM_DELROUTE)
		return TRUE;
	memcpy(&route, message + NLMSG_HDRLEN, sizeof(route));
	return route.rtm_table != RT_TABLE_LOCAL && !(route.rtm_flags & RTM_F_CLONED);
}

static const RdmadEventSource source = {
	"rtnetlink",
	NETLINK_ROUTE,
	{ RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
	  RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE },
	message_matters,
};

RdmadNetworkWatch *rdmad_network_watch_new(RdmadLoop *loop, RdmadModule *owner,
					   void (*hint)(gpointer data), gpointer data,
					   GError **error)
{
	return (RdmadNetworkWatch *)rdmad_kernel_events_open(loop, owner, &source, 1, hint, data,
							     error);
}

void rdmad_network_watch_free(RdmadNetworkWatch *watch)
{
	rdmad_kernel_events_free((RdmadKernelEvents *)watch);
}
