/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "epoll.h"

/* ---- counters ---- */

typedef struct {
	Open open;
	guint64 count;
} Counter;

static void open_free(Open *open)
{
	g_free(open);
}

static guint32 counter_ready(const Open *open)
{
	return EPOLLOUT | (((const Counter *)open)->count ? EPOLLIN : 0);
}

static gssize counter_read(Open *open, void *bytes, gsize size)
{
	Counter *counter = (Counter *)open;

	if (size < sizeof(counter->count))
		return descriptor_fail(EINVAL);
	if (!counter->count)
		return descriptor_fail(EAGAIN);
	memcpy(bytes, &counter->count, sizeof(counter->count));
	counter->count = 0;
	epoll_wake(open, EPOLLOUT);
	return sizeof(counter->count);
}

static gssize counter_write(Open *open, const void *bytes, gsize size)
{
	Counter *counter = (Counter *)open;
	guint64 more;

	if (size < sizeof(more))
		return descriptor_fail(EINVAL);
	memcpy(&more, bytes, sizeof(more));
	counter->count += more;
	epoll_wake(open, EPOLLIN);
	return sizeof(more);
}

static const OpenKind counter_kind = { open_free, counter_ready, counter_read, counter_write };

int eventfd(unsigned count, int flags)
{
	Counter *counter = g_new0(Counter, 1);

	counter->open.kind = &counter_kind;
	counter->open.flags = O_RDWR | (flags & O_NONBLOCK);
	counter->count = count;
	return descriptor_new(&counter->open);
}

void event_tell(int fd)
{
	const guint64 one = 1;

	counter_write(descriptor_of_kind(fd, &counter_kind), &one, sizeof(one));
}

void event_take(int fd)
{
	guint64 count;

	counter_read(descriptor_of_kind(fd, &counter_kind), &count, sizeof(count));
}

/* ---- signals ---- */

typedef struct {
	Open open;
	guint64 wanted; /* bit N: signal N */
} Signals;

static guint64 pending;	    /* the same */
static GSList *all_signals; /* of Signals, newest first */

static guint32 signals_ready(const Open *open)
{
	return ((const Signals *)open)->wanted & pending ? EPOLLIN : 0;
}

static gssize signals_read(Open *open, void *bytes, gsize size)
{
	const guint64 found = ((Signals *)open)->wanted & pending;
	struct signalfd_siginfo *info = bytes;

	if (size < sizeof(*info))
		return descriptor_fail(EINVAL);
	if (!found)
		return descriptor_fail(EAGAIN);
	memset(info, 0, sizeof(*info));
	info->ssi_signo = (guint32)__builtin_ctzll(found);
	pending &= ~(G_GUINT64_CONSTANT(1) << info->ssi_signo);
	return sizeof(*info);
}

static void signals_end(Open *open)
{
	all_signals = g_slist_remove(all_signals, open);
	g_free(open);
}

static const OpenKind signals_kind = { signals_end, signals_ready, signals_read, NULL };

int signalfd(int fd, const sigset_t *mask, int flags)
{
	Signals *signals = g_new0(Signals, 1);

	g_assert_cmpint(fd, ==, -1);
	signals->open.kind = &signals_kind;
	signals->open.flags = flags & O_NONBLOCK;
	for (int signum = 1; signum < 64; signum++)
		if (sigismember(mask, signum))
			signals->wanted |= G_GUINT64_CONSTANT(1) << signum;
	all_signals = g_slist_prepend(all_signals, signals);
	return descriptor_new(&signals->open);
}

void signals_send(int signum)
{
	pending |= G_GUINT64_CONSTANT(1) << signum;
	for (const GSList *l = all_signals; l; l = l->next)
		epoll_wake(l->data, 0);
}

/* rdmad has handed over, and only waits: that the signal to stop comes at once makes no
 * difference. */
int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
		 const struct timespec *restrict timeout)
{
	return SIGTERM;
}

void signals_drain(void)
{
	pending = 0;
}
