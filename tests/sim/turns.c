/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "epoll.h"

#define TURNS_MAX 200000u /* limit of turns while the time does not move: something spins */

/* Wrapped by the linker, to see all loops. */
RdmadLoop *__real_rdmad_loop_new(void);
RdmadLoop *__wrap_rdmad_loop_new(void);

typedef struct {
	RdmadLoop *loop;
	int epoll;
	gint64 due_us; /* time of its next timer, while it is idle */
	gboolean idle; /* the last turn found nothing */
} Side;

static struct {
	const TurnsOps *ops;
	Decisions *decisions;
	Side rdmad, kubelet, set_aside;
	int last_epoll;
	gboolean in_rdmad, is_second;
	guint turns; /* since the time has moved */
} turns;

/* ---- loops ---- */

int epoll_create1(int flags)
{
	turns.last_epoll = epoll_new();
	return turns.last_epoll;
}

static RdmadLoop *side_make(Side *side)
{
	*side = (Side){ .loop = __real_rdmad_loop_new(), .due_us = G_MAXINT64 };
	side->epoll = turns.last_epoll;
	return side->loop;
}

RdmadLoop *__wrap_rdmad_loop_new(void)
{
	return side_make(&turns.rdmad);
}

RdmadLoop *turns_kubelet_loop_new(void)
{
	return side_make(&turns.kubelet);
}

void turns_set_aside(gboolean aside)
{
	turns.is_second = aside;
	if (aside)
		turns.set_aside = turns.rdmad;
	else
		turns.rdmad = turns.set_aside;
}

gboolean turns_in_second(void)
{
	return turns.is_second;
}

void turns_begin(const TurnsOps *ops, Decisions *decisions)
{
	turns.ops = ops;
	turns.decisions = decisions;
	turns.turns = 0;
}

void turns_end(void)
{
	turns.kubelet.loop = NULL;
}

gboolean turns_in_rdmad(void)
{
	return turns.in_rdmad;
}

void turns_set_in_rdmad(gboolean in_rdmad)
{
	turns.in_rdmad = in_rdmad;
}

/* ---- kubelet's loop ---- */

/* Changes the order of simultaneous events by rotating the list. */
static void events_rotate(struct epoll_event *events, guint n)
{
	const guint by = n > 1 ? decide_rarely(turns.decisions, DECIDE_ORDER, 4, n) : 0;
	struct epoll_event moved[64];

	if (!by || n > G_N_ELEMENTS(moved))
		return;
	memcpy(moved, events, n * sizeof(*events));
	for (guint i = 0; i < n; i++)
		events[i] = moved[(i + by) % n];
}

static int events_ready(const Side *side, struct epoll_event *events, int max)
{
	const int n = epoll_take(side->epoll, events, max);

	if (n > 0)
		events_rotate(events, (guint)n);
	return n;
}

/* Returns TRUE if the loop had something to do. */
static gboolean kubelet_turn(void)
{
	if (!turns.kubelet.loop)
		return FALSE;
	turns.kubelet.idle = FALSE;
	rdmad_loop_turn(turns.kubelet.loop);
	return !turns.kubelet.idle;
}

/* Ends the turn where it would wait. */
static int kubelet_wait(struct epoll_event *events, int max, int timeout_ms)
{
	const int n = events_ready(&turns.kubelet, events, max);

	if (n != 0 || timeout_ms == 0)
		return n;
	turns.kubelet.idle = TRUE;
	turns.kubelet.due_us = timeout_ms < 0 ? G_MAXINT64 : clock_now_us() + timeout_ms * SIM_MS;
	rdmad_loop_stop(turns.kubelet.loop);
	return 0;
}

/* ---- all loops ---- */

/* Counts a turn of anybody; returns TRUE if the time does not move any more. */
static gboolean spins(void)
{
	if (++turns.turns == TURNS_MAX)
		turns.ops->spins(TURNS_MAX);
	return turns.turns >= TURNS_MAX;
}

/* Returns TRUE if something was done, or the time has moved towards `until_us`. */
static gboolean others_turn(gint64 until_us)
{
	gint64 due_us;

	if (kubelet_turn()) {
		/* So that effects before and after a turn of kubelet have different times. */
		clock_move_to(clock_now_us() + 1);
		return TRUE;
	}
	due_us = turns.ops->due_us();
	if (due_us <= clock_now_us()) {
		turns.ops->work();
		return TRUE;
	}
	due_us = MIN(MIN(until_us, due_us), turns.kubelet.due_us);
	if (due_us > clock_now_us())
		turns.turns = 0;
	clock_move_to(due_us);
	return clock_now_us() < until_us;
}

void turns_without_rdmad(gint64 until_us)
{
	while (!spins() && others_turn(until_us))
		;
}

static int rdmad_wait(struct epoll_event *events, int max, gint64 until_us)
{
	if (turns.is_second) {
		rdmad_loop_stop(turns.rdmad.loop);
		return 0;
	}
	for (;;) {
		const int n = spins() || turns.ops->is_over()
				      ? 0
				      : events_ready(&turns.rdmad, events, max);

		if (turns.ops->is_over())
			rdmad_loop_stop(turns.rdmad.loop);
		else if (n == 0 && others_turn(until_us))
			continue;
		return n;
	}
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms)
{
	const gint64 until_us = timeout_ms < 0 ? G_MAXINT64 : clock_now_us() + timeout_ms * SIM_MS;
	int n;

	if (turns.kubelet.loop && epoll == turns.kubelet.epoll)
		return kubelet_wait(events, max, timeout_ms);
	turns.in_rdmad = FALSE;
	n = rdmad_wait(events, max, until_us);
	turns.in_rdmad = TRUE;
	return n;
}
