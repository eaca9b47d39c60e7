/* SPDX-License-Identifier: Apache-2.0 */
#include "port-listener.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "samples.h"

struct PortListener {
	struct ibv_context *context;
	int links;
	pthread_t thread;
	atomic_int expected; /* enum ibv_port_state */
	_Atomic gint64 seen;
};

static int links_open(void)
{
	const struct sockaddr_nl links = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&links, sizeof(links)) < 0)
		g_error("rtnetlink: %s", g_strerror(errno));
	return fd;
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (guint i = 0; list && list[i] && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	if (!context)
		g_error("%s cannot be opened", name);
	ibv_free_device_list(list);
	if (fcntl(context->async_fd, F_SETFL, O_NONBLOCK) < 0)
		g_error("%s: %s", name, g_strerror(errno));
	return context;
}

static void listener_drain(PortListener *listener)
{
	struct ibv_async_event event;
	char message[8192];

	while (recv(listener->links, message, sizeof(message), 0) > 0)
		;
	while (ibv_get_async_event(listener->context, &event) == 0)
		ibv_ack_async_event(&event);
}

static void *listener_run(void *data)
{
	PortListener *listener = data;
	struct pollfd fds[] = { { .fd = listener->links, .events = POLLIN },
				{ .fd = listener->context->async_fd, .events = POLLIN } };

	while (poll(fds, G_N_ELEMENTS(fds), -1) > 0) {
		struct ibv_port_attr port;

		listener_drain(listener);
		if (ibv_query_port(listener->context, 1, &port) == 0 &&
		    (int)port.state == listener->expected && !listener->seen)
			listener->seen = samples_now();
	}
	return NULL;
}

PortListener *port_listener_new(const char *device)
{
	PortListener *listener = g_new0(PortListener, 1);

	listener->context = device_open(device);
	listener->links = links_open();
	if (pthread_create(&listener->thread, NULL, listener_run, listener) != 0)
		g_error("no thread");
	return listener;
}

void port_listener_expect(PortListener *listener, gboolean active)
{
	listener->expected = active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	listener->seen = 0;
}

gint64 port_listener_seen(const PortListener *listener)
{
	return listener->seen;
}
