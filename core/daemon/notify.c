/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "daemon"

#include "daemon/notify.h"

#include <errno.h>
#include <rdmad/clock.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/unix-socket.h"

/* The longest time that a stalled service manager may block rdmad. */
#define SEND_TIMEOUT_US 500000

struct RdmadNotify {
	RdmadUnixAddress address;
	int fd; /* -1: no service manager */
	guint watchdog_ms;
};

static void notify_open(RdmadNotify *notify, const char *path)
{
	const struct timeval timeout = { .tv_usec = SEND_TIMEOUT_US };
	g_autoptr(GError) error = NULL;

	if ((path[0] != '/' && path[0] != '@') || strlen(path) < 2) {
		rdmad_warn("cannot use NOTIFY_SOCKET=%s: neither a path nor an abstract name",
			   path);
		return;
	}
	if (!rdmad_unix_address_init(&notify->address, path, &error)) {
		rdmad_warn("cannot use NOTIFY_SOCKET: %s", error->message);
		return;
	}
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify->fd < 0)
		rdmad_warn("cannot open a socket for NOTIFY_SOCKET: %s", g_strerror(errno));
	else
		setsockopt(notify->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

/* Returns half of the manager's limit, so that one long turn of the loop does not trigger the
 * watchdog. */
static guint watchdog_interval(void)
{
	const char *usec = g_getenv("WATCHDOG_USEC");
	const char *pid = g_getenv("WATCHDOG_PID");
	guint64 limit, owner;

	if (!usec || !g_ascii_string_to_unsigned(usec, 10, 1, G_MAXUINT32 * 1000ull, &limit, NULL))
		return 0;
	if (pid && (!g_ascii_string_to_unsigned(pid, 10, 1, G_MAXINT, &owner, NULL) ||
		    (pid_t)owner != getpid()))
		return 0;
	return MAX(limit / 2000, 1);
}

RdmadNotify *rdmad_notify_new(void)
{
	RdmadNotify *notify = g_new0(RdmadNotify, 1);
	const char *path = g_getenv("NOTIFY_SOCKET");

	notify->fd = notify->address.directory = -1;
	notify->watchdog_ms = watchdog_interval();
	if (path && *path)
		notify_open(notify, path);
	g_unsetenv("NOTIFY_SOCKET");
	g_unsetenv("WATCHDOG_USEC");
	g_unsetenv("WATCHDOG_PID");
	return notify;
}

void rdmad_notify_free(RdmadNotify *notify)
{
	if (!notify)
		return;
	rdmad_clear_fd(&notify->fd);
	rdmad_unix_address_clear(&notify->address);
	g_free(notify);
}

void rdmad_notify_send(RdmadNotify *notify, const char *state)
{
	if (notify->fd < 0)
		return;
	if (sendto(notify->fd, state, strlen(state), MSG_NOSIGNAL,
		   (const struct sockaddr *)&notify->address.un, notify->address.size) < 0)
		rdmad_warn("cannot notify the service manager: %s", g_strerror(errno));
}

void rdmad_notify_reloading(RdmadNotify *notify)
{
	g_autofree char *state =
		g_strdup_printf("RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, rdmad_now_us());

	rdmad_notify_send(notify, state);
}

void rdmad_notify_status(RdmadNotify *notify, const char *format, ...)
{
	g_autofree char *text = NULL;
	g_autofree char *state = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	/* A newline would start another variable. */
	for (char *c = text; *c; c++)
		*c = g_ascii_iscntrl(*c) ? ' ' : *c;
	state = g_strdup_printf("STATUS=%.512s", text);
	rdmad_notify_send(notify, state);
}

guint rdmad_notify_watchdog_ms(const RdmadNotify *notify)
{
	return notify->fd < 0 ? 0 : notify->watchdog_ms;
}
