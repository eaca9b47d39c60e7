/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/verbs/verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdmad/error.h>
#include <string.h>

typedef union {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
} Address;

static Address address_of(const RdmadIp *ip)
{
	Address address = { .any.sa_family = (sa_family_t)ip->family };

	if (ip->family == AF_INET)
		memcpy(&address.ipv4.sin_addr, ip->bytes, 4);
	else
		memcpy(&address.ipv6.sin6_addr, ip->bytes, 16);
	return address;
}

static char *bound_device(struct rdma_cm_id *id, const RdmadIp *ip, GError **error)
{
	Address address = address_of(ip);
	char text[RDMAD_IP_TEXT];

	if (rdma_bind_addr(id, &address.any) < 0)
		rdmad_error_errno(error, errno, "RDMA_CM cannot bind to %s",
				  rdmad_ip_text(ip, FALSE, text));
	else if (!id->verbs)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "RDMA_CM finds no device for %s", rdmad_ip_text(ip, FALSE, text));
	else
		return g_strdup(id->verbs->device->name);
	return NULL;
}

char *rdmad_verbs_bind(const RdmadIp *ip, GError **error)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;
	char *device = NULL;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) < 0)
		rdmad_error_errno(error, errno, "RDMA_CM cannot be used");
	else
		device = bound_device(id, ip, error);
	if (id)
		rdma_destroy_id(id);
	if (channel)
		rdma_destroy_event_channel(channel);
	return device;
}
