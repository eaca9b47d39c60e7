/* SPDX-License-Identifier: Apache-2.0 */
#include "epoll.h"

#include <errno.h>
#include <linux/poll.h> /* <poll.h> says that poll() does not read its argument */
#include <sys/syscall.h>
#include <unistd.h>

#define ALWAYS (EPOLLERR | EPOLLHUP)

typedef struct {
	Open open;
	GList *waits; /* of Wait */
	GQueue ready; /* of Wait, linked by their own nodes */
} Epoll;

typedef struct {
	Epoll *epoll;
	Open *of;
	int fd;
	struct epoll_event event;
	GList node;
	gboolean is_ready; /* it is in the list */
} Wait;

static guint32 events_of(const Wait *wait)
{
	return wait->of->kind->ready(wait->of) & (wait->event.events | ALWAYS);
}

static void ready_add(Wait *wait)
{
	if (!wait->is_ready)
		g_queue_push_tail_link(&wait->epoll->ready, &wait->node);
	wait->is_ready = TRUE;
}

static void ready_remove(Wait *wait)
{
	if (wait->is_ready)
		g_queue_unlink(&wait->epoll->ready, &wait->node);
	wait->is_ready = FALSE;
}

void epoll_wake(const Open *open, guint32 events)
{
	for (const GSList *l = open->waits; l; l = l->next) {
		Wait *wait = l->data;

		if (!events || events & (wait->event.events | ALWAYS))
			ready_add(wait);
	}
}

static void wait_free(Wait *wait)
{
	ready_remove(wait);
	wait->epoll->waits = g_list_remove(wait->epoll->waits, wait);
	wait->of->waits = g_slist_remove(wait->of->waits, wait);
	g_free(wait);
}

void epoll_ended(Open *open)
{
	while (open->waits)
		wait_free(open->waits->data);
}

static void epoll_end(Open *open)
{
	Epoll *epoll = (Epoll *)open;

	while (epoll->waits)
		wait_free(epoll->waits->data);
	g_free(epoll);
}

static const OpenKind epoll_kind = { .end = epoll_end };

int epoll_new(void)
{
	Epoll *epoll = g_new0(Epoll, 1);

	epoll->open.kind = &epoll_kind;
	g_queue_init(&epoll->ready);
	return descriptor_new(&epoll->open);
}

int epoll_take(int epoll_fd, struct epoll_event *events, int max)
{
	Epoll *epoll = descriptor_of_kind(epoll_fd, &epoll_kind);
	int n = 0;

	for (guint left = epoll->ready.length; left > 0 && n < max; left--) {
		Wait *wait = epoll->ready.head->data;
		const guint32 ready = events_of(wait);

		ready_remove(wait);
		if (!ready)
			continue;
		events[n] = wait->event;
		events[n++].events = ready;
		ready_add(wait);
	}
	return n;
}

/* ---- replaced functions ---- */

static Wait *wait_find(const Epoll *epoll, const Open *of, int fd)
{
	for (const GSList *l = of->waits; l; l = l->next) {
		Wait *wait = l->data;

		if (wait->epoll == epoll && wait->fd == fd)
			return wait;
	}
	return NULL;
}

static Wait *wait_new(Epoll *epoll, Open *of, int fd)
{
	Wait *wait = g_new0(Wait, 1);

	wait->epoll = epoll;
	wait->of = of;
	wait->fd = fd;
	wait->node.data = wait;
	epoll->waits = g_list_prepend(epoll->waits, wait);
	of->waits = g_slist_prepend(of->waits, wait);
	return wait;
}

int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	Epoll *epoll = descriptor_of_kind(epoll_fd, &epoll_kind);
	Open *of = descriptor_open(fd);
	Wait *wait;

	if (!epoll || !of)
		return descriptor_fail(EBADF);
	if (!of->kind->ready)
		return descriptor_fail(EPERM);
	wait = wait_find(epoll, of, fd);
	if (!wait != (operation == EPOLL_CTL_ADD))
		return descriptor_fail(wait ? EEXIST : ENOENT);
	if (operation == EPOLL_CTL_DEL) {
		wait_free(wait);
		return 0;
	}
	if (!wait)
		wait = wait_new(epoll, of, fd);
	wait->event = *event;
	if (events_of(wait))
		ready_add(wait);
	return 0;
}

/* rdmad asks for one descriptor. */
int poll(struct pollfd *asked, gulong n, int timeout_ms);
int poll(struct pollfd *asked, gulong n, int timeout_ms)
{
	const Open *open = n == 1 ? descriptor_open(asked->fd) : NULL;

	if (!open)
		return (int)syscall(SYS_poll, asked, n, timeout_ms);
	if (!open->kind->ready(open) && timeout_ms > 0 && open->kind->wait)
		open->kind->wait(open, (guint)timeout_ms);
	asked->revents = (short)(open->kind->ready(open) & ((guint32)asked->events | ALWAYS));
	g_assert_true(asked->revents || timeout_ms == 0 || open->kind->wait);
	return asked->revents != 0;
}
