/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop on libevent; no other file includes libevent */
#define RDMAD_LOG_TOPIC "loop"

#include "base/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/owned.h"

struct RdmadLoop {
	struct event_base *base;
	GQueue events;	      /* RdmadEvent, linked by their own nodes */
	GQueue objects;	      /* RdmadOwned */
	RdmadStats *stats;    /* or NULL */
	GHashTable *families; /* RdmadStatClass -> RdmadStat */
	RdmadStat *latency, *turns;
	gint64 turn_us; /* start of this turn's first callback; 0: none yet */
	gint64 late_us; /* the largest delay of this turn's timers */
};

typedef enum { EVENT_IO, EVENT_TIMER, EVENT_CHILD, EVENT_SIGNAL } EventKind;

struct RdmadEvent {
	RdmadLoop *loop;
	RdmadModule *owner;
	GList node;
	struct event *ev;
	EventKind kind;
	int priority;
	union {
		RdmadIoFunc io;
		RdmadTimerFunc timer;
		RdmadChildFunc child;
		void (*signal)(int signum, gpointer data);
	} fn;
	gpointer data;
	gint64 due_us;	  /* EVENT_TIMER */
	pid_t pid;	  /* EVENT_CHILD */
	int signum;	  /* EVENT_SIGNAL */
	gboolean unblock; /* EVENT_SIGNAL: the signal was not blocked before */
	int own_fd;	  /* EVENT_CHILD: a pidfd; EVENT_SIGNAL: a signalfd */
};

/* Priorities of libevent: lower numbers are served first. */
enum { PRIORITY_NORMAL, PRIORITY_LOW, N_PRIORITIES };

static void loop_log(int severity, const char *message)
{
	if (severity >= EVENT_LOG_WARN)
		rdmad_warn("libevent: %s", message);
}

/* Without epoll, libevent would fall back to poll() or select(), whose errors differ.  The
 * kernel is polled after each callback of low priority, so that other events wait for at most
 * one of them. */
static struct event_base *base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config && event_config_avoid_method(config, "poll") == 0 &&
	    event_config_avoid_method(config, "select") == 0 &&
	    event_config_set_max_dispatch_interval(config, NULL, 1, PRIORITY_LOW) == 0)
		base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	if (base && event_base_priority_init(base, N_PRIORITIES) < 0)
		g_clear_pointer(&base, event_base_free);
	return base;
}

RdmadLoop *rdmad_loop_new(void)
{
	struct event_base *base;
	RdmadLoop *loop;

	event_set_log_callback(loop_log);
	base = base_new();
	if (!base)
		return NULL;
	loop = g_new0(RdmadLoop, 1);
	loop->base = base;
	g_queue_init(&loop->events);
	g_queue_init(&loop->objects);
	return loop;
}

void rdmad_loop_free(RdmadLoop *loop)
{
	if (!loop)
		return;
	rdmad_owned_reap(&loop->objects, NULL);
	while (loop->events.head)
		rdmad_event_free(loop->events.head->data);
	event_base_free(loop->base);
	g_clear_pointer(&loop->families, g_hash_table_unref);
	g_free(loop);
}

/* ---- stats ---- */

static const RdmadStatClass latency_class = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_loop_latency_seconds",
	.unit = "seconds",
	.help = "Upper bound of the time that an event waits for the event loop: in each turn the "
		"larger of its duration and the delay of its timers",
	.bounds = (const double[]){ 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				    0.25, 0.5, 1, 5, 0 },
};

static const RdmadStatClass turns_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_loop_turns",
	.help = "Turns of the event loop with an event",
};

RdmadStat *rdmad_loop_stat(RdmadLoop *loop, const RdmadStatClass *klass)
{
	g_autoptr(GError) error = NULL;
	RdmadStat *stat;

	if (!loop->stats)
		return NULL;
	stat = g_hash_table_lookup(loop->families, klass);
	if (stat)
		return stat;
	stat = rdmad_stats_add(loop->stats, NULL, klass, NULL, &error);
	if (!stat)
		g_error("%s", error->message);
	g_hash_table_insert(loop->families, (gpointer)klass, stat);
	return stat;
}

void rdmad_loop_set_stats(RdmadLoop *loop, RdmadStats *stats)
{
	g_assert(!loop->stats);
	loop->stats = stats;
	loop->families = g_hash_table_new(NULL, NULL);
	loop->latency = rdmad_loop_stat(loop, &latency_class);
	loop->turns = rdmad_loop_stat(loop, &turns_class);
}

/* Ends a turn.  Its length bounds the wait of every event of the turn.  An idle loop reads no
 * clock. */
static void loop_leave(RdmadLoop *loop)
{
	gint64 took_us;

	if (!loop->turn_us)
		return;
	took_us = rdmad_now_us() - loop->turn_us;
	rdmad_stat_observe(loop->latency, (double)MAX(took_us, loop->late_us) / G_USEC_PER_SEC,
			   NULL);
	rdmad_stat_add(loop->turns, 1, NULL);
	loop->turn_us = loop->late_us = 0;
}

/* Called before each callback. */
static void loop_enter(RdmadLoop *loop)
{
	if (loop->stats && !loop->turn_us)
		loop->turn_us = rdmad_now_us();
}

/* Called after each callback.  A callback of low priority ends the turn, because the kernel is
 * polled before the next one. */
static void loop_return(RdmadLoop *loop, int priority)
{
	if (priority == PRIORITY_LOW)
		loop_leave(loop);
}

/* ---- turns ---- */

void rdmad_loop_turn(RdmadLoop *loop)
{
	event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
	loop_leave(loop);
}

void rdmad_loop_run(RdmadLoop *loop)
{
	do
		rdmad_loop_turn(loop);
	while (!event_base_got_break(loop->base));
}

void rdmad_loop_stop(RdmadLoop *loop)
{
	event_base_loopbreak(loop->base);
}

/* ---- events ---- */

static RdmadEvent *event_new_for(RdmadLoop *loop, RdmadModule *owner, EventKind kind, gpointer data)
{
	RdmadEvent *ev = g_new0(RdmadEvent, 1);

	ev->loop = loop;
	ev->owner = owner;
	ev->kind = kind;
	ev->priority = PRIORITY_NORMAL;
	ev->data = data;
	ev->own_fd = -1;
	ev->node.data = ev;
	g_queue_push_tail_link(&loop->events, &ev->node);
	return ev;
}

/* event_new() fails only for lack of memory. */
static void event_assign_to(RdmadEvent *ev, int fd, short what, event_callback_fn fn)
{
	ev->ev = event_new(ev->loop->base, fd, what, fn, ev);
	if (!ev->ev)
		g_error("cannot make an event");
	event_priority_set(ev->ev, ev->priority);
}

/* Returns FALSE with errno if epoll_ctl() failed; the event is not watched. */
static gboolean event_start(RdmadEvent *ev)
{
	return event_add(ev->ev, NULL) == 0;
}

/* Frees the event, keeps errno, and returns NULL for its callers to return. */
static RdmadEvent *event_drop(RdmadEvent *ev)
{
	const int errnum = errno;

	rdmad_event_free(ev);
	errno = errnum;
	return NULL;
}

void rdmad_event_set_low(RdmadEvent *ev)
{
	ev->priority = PRIORITY_LOW;
	event_priority_set(ev->ev, ev->priority);
}

static void io_fired(int fd, short what, void *data)
{
	RdmadEvent *ev = data;
	const RdmadIo ready =
		(what & EV_READ ? RDMAD_IO_READ : 0) | (what & EV_WRITE ? RDMAD_IO_WRITE : 0);

	RdmadLoop *loop = ev->loop;
	const int priority = ev->priority;

	loop_enter(loop);
	ev->fn.io(fd, ready, ev->data);
	loop_return(loop, priority);
}

RdmadEvent *rdmad_loop_add_io(RdmadLoop *loop, RdmadModule *owner, int fd, RdmadIo want,
			      RdmadIoFunc fn, gpointer data, GError **error)
{
	RdmadEvent *ev = event_new_for(loop, owner, EVENT_IO, data);

	ev->fn.io = fn;
	event_assign_to(ev, fd, EV_PERSIST, io_fired);
	if (rdmad_event_want(ev, want))
		return ev;
	rdmad_error_errno(error, errno, "cannot wait for descriptor %d", fd);
	return event_drop(ev);
}

gboolean rdmad_event_want(RdmadEvent *ev, RdmadIo want)
{
	const int fd = event_get_fd(ev->ev);
	const short what = EV_PERSIST | (want & RDMAD_IO_READ ? EV_READ : 0) |
			   (want & RDMAD_IO_WRITE ? EV_WRITE : 0);

	if (event_get_events(ev->ev) == what && event_pending(ev->ev, EV_READ | EV_WRITE, NULL))
		return TRUE;
	event_del(ev->ev);
	event_assign(ev->ev, ev->loop->base, fd, what, io_fired, ev);
	event_priority_set(ev->ev, ev->priority);
	return !want || event_start(ev);
}

static void timer_fired(int fd, short what, void *data)
{
	RdmadEvent *ev = data;
	RdmadLoop *loop = ev->loop;
	const int priority = ev->priority;

	loop_enter(loop);
	loop->late_us = MAX(loop->late_us, loop->turn_us - ev->due_us);
	ev->fn.timer(ev->data);
	loop_return(loop, priority);
}

RdmadEvent *rdmad_loop_add_timer(RdmadLoop *loop, RdmadModule *owner, RdmadTimerFunc fn,
				 gpointer data)
{
	RdmadEvent *ev = event_new_for(loop, owner, EVENT_TIMER, data);

	ev->fn.timer = fn;
	event_assign_to(ev, -1, 0, timer_fired);
	return ev;
}

void rdmad_event_arm(RdmadEvent *ev, guint delay_ms)
{
	const struct timeval delay = { delay_ms / 1000, (delay_ms % 1000) * 1000 };

	g_assert(ev->kind == EVENT_TIMER);
	ev->due_us = rdmad_now_us() + (gint64)delay_ms * 1000;
	event_add(ev->ev, &delay);
}

void rdmad_event_arm_within(RdmadEvent *ev, guint delay_ms)
{
	if (!rdmad_event_armed(ev) || ev->due_us > rdmad_now_us() + (gint64)delay_ms * 1000)
		rdmad_event_arm(ev, delay_ms);
}

/* The queue of ready events is a FIFO, and the kernel is polled again when it is empty. */
void rdmad_event_arm_for_turn(RdmadEvent *ev)
{
	g_assert(ev->kind == EVENT_TIMER);
	ev->due_us = rdmad_now_us();
	event_active(ev->ev, EV_TIMEOUT, 0);
}

void rdmad_event_disarm(RdmadEvent *ev)
{
	event_del(ev->ev);
}

gboolean rdmad_event_armed(const RdmadEvent *ev)
{
	return event_pending(ev->ev, EV_TIMEOUT, NULL) != 0;
}

static void child_ended(int fd, short what, void *data)
{
	RdmadEvent *ev = data;
	const RdmadChildFunc fn = ev->fn.child;
	const gpointer user = ev->data;
	const pid_t pid = ev->pid;
	int status;
	const pid_t reaped = waitpid(pid, &status, WNOHANG);

	loop_enter(ev->loop);
	if (reaped == 0)
		return;
	/* The child has ended, and was reaped elsewhere in this process. */
	if (reaped < 0)
		status = -1;
	rdmad_event_free(ev);
	fn(pid, status, user);
}

/* pidfd_open() works for any process, but only a child has a status to wait for. */
static int child_open(pid_t pid)
{
	rdmad_autofd int pidfd = pidfd_open(pid, 0);
	siginfo_t unused;

	if (pidfd < 0 || waitid(P_PIDFD, (id_t)pidfd, &unused, WEXITED | WNOHANG | WNOWAIT) < 0)
		return -1;
	return rdmad_steal_fd(&pidfd);
}

RdmadEvent *rdmad_loop_add_child(RdmadLoop *loop, RdmadModule *owner, pid_t pid, RdmadChildFunc fn,
				 gpointer data, GError **error)
{
	const int pidfd = child_open(pid);
	RdmadEvent *ev;

	if (pidfd < 0) {
		rdmad_error_errno(error, errno, "cannot watch child %d", (int)pid);
		return NULL;
	}
	ev = event_new_for(loop, owner, EVENT_CHILD, data);
	ev->fn.child = fn;
	ev->pid = pid;
	ev->own_fd = pidfd;
	event_assign_to(ev, pidfd, EV_READ | EV_PERSIST, child_ended);
	if (event_start(ev))
		return ev;
	rdmad_error_errno(error, errno, "cannot watch child %d", (int)pid);
	return event_drop(ev);
}

static void signal_set(sigset_t *set, int signum)
{
	sigemptyset(set);
	sigaddset(set, signum);
}

static void signal_fired(int fd, short what, void *data)
{
	RdmadEvent *ev = data;
	struct signalfd_siginfo info;

	/* The signal stays pending: the next turn retries. */
	if (read(fd, &info, sizeof(info)) < 0)
		return;
	loop_enter(ev->loop);
	ev->fn.signal(ev->signum, ev->data);
}

/* Uses a signalfd: libevent's signal handling aborts the process if it cannot read from its
 * pipe, and loses signals that it cannot write there.  Threads inherit the mask. */
RdmadEvent *rdmad_loop_add_signal(RdmadLoop *loop, int signum,
				  void (*fn)(int signum, gpointer data), gpointer data)
{
	RdmadEvent *ev = event_new_for(loop, NULL, EVENT_SIGNAL, data);
	sigset_t set, before;

	ev->fn.signal = fn;
	ev->signum = signum;
	signal_set(&set, signum);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	ev->unblock = !sigismember(&before, signum);
	ev->own_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	event_assign_to(ev, ev->own_fd, EV_READ | EV_PERSIST, signal_fired);
	return ev->own_fd >= 0 && event_start(ev) ? ev : event_drop(ev);
}

void rdmad_event_free(RdmadEvent *ev)
{
	sigset_t set;

	if (!ev)
		return;
	if (ev->kind == EVENT_SIGNAL && ev->unblock) {
		signal_set(&set, ev->signum);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}
	g_queue_unlink(&ev->loop->events, &ev->node);
	event_free(ev->ev);
	rdmad_clear_fd(&ev->own_fd);
	g_free(ev);
}

GQueue *rdmad_loop_objects(RdmadLoop *loop)
{
	return &loop->objects;
}

guint rdmad_loop_owned(const RdmadLoop *loop, const RdmadModule *owner)
{
	guint n = rdmad_owned_count(&loop->objects, owner);

	for (const GList *l = loop->events.head; l; l = l->next)
		n += ((const RdmadEvent *)l->data)->owner == owner;
	return n;
}

guint rdmad_loop_reap(RdmadLoop *loop, const RdmadModule *owner)
{
	guint n = rdmad_owned_reap(&loop->objects, owner);

	for (GList *l = loop->events.head, *next; l; l = next) {
		RdmadEvent *ev = l->data;

		next = l->next;
		if (ev->owner != owner)
			continue;
		rdmad_event_free(ev);
		n++;
	}
	return n;
}
