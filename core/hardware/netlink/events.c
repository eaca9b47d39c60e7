/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "kernel-events"
#include "hardware/netlink/events.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <string.h>
#include <sys/socket.h>

#include "hardware/netlink/route.h"

/* rdma_netlink.h of kernel 6.12. */
#define RDMA_NL_GROUP_NOTIFY 4

#define MESSAGE_MAX	  8192u /* a longer message counts as a hint */
#define MESSAGES_PER_TURN 256u

static const RdmadEventSource hardware_sources[] = {
	{ "RDMA netlink", NETLINK_RDMA, { RDMA_NL_GROUP_NOTIFY }, NULL },
	{ "rtnetlink",
	  NETLINK_ROUTE,
	  { RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR },
	  NULL },
	{ "uevents", NETLINK_KOBJECT_UEVENT, { 1 }, rdmad_uevent_matters },
};

typedef struct {
	const RdmadEventSource *klass;
	RdmadKernelEvents *events;
	RdmadEvent *io;
	int fd;
} Source;

struct RdmadKernelEvents {
	void (*hint)(gpointer data);
	const RdmadKernelEventOps *ops; /* NULL: only hints are reported */
	gpointer data;
	guint n_sources;
	Source sources[];
};

static int source_open(const RdmadEventSource *klass, GError **error)
{
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	rdmad_autofd int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, klass->protocol);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0) {
		rdmad_error_errno(error, errno, "cannot open %s", klass->name);
		return -1;
	}
	for (guint i = 0; i < G_N_ELEMENTS(klass->groups) && klass->groups[i]; i++)
		if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &klass->groups[i],
			       sizeof(klass->groups[i])) < 0) {
			rdmad_error_errno(error, errno, "cannot join group %u of %s",
					  klass->groups[i], klass->name);
			return -1;
		}
	return rdmad_steal_fd(&fd);
}

typedef enum { READ_EMPTY, READ_NOTHING, READ_HINT } ReadResult;

/* Reports a message about one interface.  Returns FALSE if the message counts as a hint. */
static gboolean report_interface(const Source *source, const char *message, gsize size)
{
	const RdmadKernelEvents *events = source->events;
	RdmadRouteEvent event;

	if (!events->ops || source->klass->protocol != NETLINK_ROUTE ||
	    !rdmad_route_parse_event(message, size, &event))
		return FALSE;
	events->ops->interface(&event, events->data);
	g_clear_pointer(&event.link, rdmad_link_free);
	return TRUE;
}

/* Accepts only messages of the kernel (port 0): any process may send to a netlink socket. */
static ReadResult source_read(const Source *source)
{
	_Alignas(struct nlmsghdr) char message[MESSAGE_MAX];
	struct sockaddr_nl from = { 0 };
	socklen_t size = sizeof(from);
	const ssize_t n = recvfrom(source->fd, message, sizeof(message), MSG_TRUNC,
				   (struct sockaddr *)&from, &size);

	/* ENOBUFS: messages were lost, so a scan is needed. */
	if (n < 0)
		return errno == ENOBUFS ? READ_HINT : errno == EINTR ? READ_NOTHING : READ_EMPTY;
	if (from.nl_pid != 0)
		return READ_NOTHING;
	if ((gsize)n > sizeof(message))
		return READ_HINT;
	if (source->klass->matters && !source->klass->matters(message, (gsize)n))
		return READ_NOTHING;
	return report_interface(source, message, (gsize)n) ? READ_NOTHING : READ_HINT;
}

static void source_ready(int fd, RdmadIo ready, gpointer data)
{
	const Source *source = data;
	gboolean hint = FALSE;

	for (guint i = 0; i < MESSAGES_PER_TURN; i++) {
		const ReadResult result = source_read(source);

		if (result == READ_EMPTY)
			break;
		hint |= result == READ_HINT;
	}
	if (hint)
		source->events->hint(source->events->data);
}

static gboolean source_start(Source *source, const RdmadEventSource *klass,
			     RdmadKernelEvents *events, RdmadLoop *loop, RdmadModule *owner,
			     GError **error)
{
	source->klass = klass;
	source->events = events;
	source->fd = source_open(klass, error);
	if (source->fd < 0)
		return FALSE;
	source->io = rdmad_loop_add_io(loop, owner, source->fd, RDMAD_IO_READ, source_ready, source,
				       error);
	if (!source->io)
		rdmad_clear_fd(&source->fd);
	return source->io != NULL;
}

RdmadKernelEvents *rdmad_kernel_events_open(RdmadLoop *loop, RdmadModule *owner,
					    const RdmadEventSource *sources, guint n_sources,
					    void (*hint)(gpointer data), gpointer data,
					    GError **error)
{
	RdmadKernelEvents *events =
		g_malloc0(sizeof(RdmadKernelEvents) + n_sources * sizeof(Source));
	guint open = 0;

	events->hint = hint;
	events->data = data;
	events->n_sources = n_sources;
	for (guint i = 0; i < n_sources; i++) {
		g_autoptr(GError) reason = NULL;

		if (source_start(&events->sources[i], &sources[i], events, loop, owner, &reason))
			open++;
		else
			rdmad_warn("%s; changes that only it reports will be noticed late",
				   reason->message);
	}
	if (open > 0)
		return events;
	g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "cannot receive the kernel's events");
	rdmad_kernel_events_free(events);
	return NULL;
}

RdmadKernelEvents *rdmad_kernel_events_new(RdmadLoop *loop, const RdmadKernelEventOps *ops,
					   gpointer data, GError **error)
{
	RdmadKernelEvents *events =
		rdmad_kernel_events_open(loop, NULL, hardware_sources,
					 G_N_ELEMENTS(hardware_sources), ops->hint, data, error);

	if (events)
		events->ops = ops;
	return events;
}

void rdmad_kernel_events_free(RdmadKernelEvents *events)
{
	if (!events)
		return;
	for (guint i = 0; i < events->n_sources; i++) {
		rdmad_event_free(events->sources[i].io);
		rdmad_clear_fd(&events->sources[i].fd);
	}
	g_free(events);
}

/* ---- kobject uevents: "add@/devices/...", then "KEY=value" strings, each with a NUL ---- */

static gboolean has_path(const char *message, gsize size, const char *start)
{
	const char *at = size ? memchr(message, '@', size) : NULL;
	const gsize left = at ? (gsize)(message + size - at) - 1 : 0;

	return left >= strlen(start) && memcmp(at + 1, start, strlen(start)) == 0;
}

/* "infiniband*" are infiniband, infiniband_verbs, infiniband_mad and infiniband_cm. */
static gboolean subsystem_matters(const char *name, gsize size, gboolean is_virtual)
{
	static const char *const others[] = { "pci", "auxiliary", "module" };

	if (size >= strlen("infiniband") && strncmp(name, "infiniband", strlen("infiniband")) == 0)
		return TRUE;
	if (size == strlen("net") && memcmp(name, "net", size) == 0)
		return !is_virtual;
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (size == strlen(others[i]) && memcmp(name, others[i], size) == 0)
			return TRUE;
	return FALSE;
}

gboolean rdmad_uevent_matters(const char *message, gsize size)
{
	static const char key[] = "SUBSYSTEM=";
	const char *end = message + size;
	const gsize key_size = sizeof(key) - 1;
	const gboolean is_virtual = has_path(message, size, "/devices/virtual/");

	for (const char *at = message; at < end;) {
		const gsize n = strnlen(at, (gsize)(end - at));

		if (n > key_size && memcmp(at, key, key_size) == 0)
			return subsystem_matters(at + key_size, n - key_size, is_virtual);
		at += n + 1;
	}
	return FALSE;
}
