/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BEGIN_US      (1000 * SIM_S)
#define BEGIN_WALL_US (G_GINT64_CONSTANT(1800000000) * SIM_S)

static gint64 now_us = BEGIN_US, wall_us = BEGIN_WALL_US;

void clock_begin(void)
{
	now_us = BEGIN_US;
	wall_us = BEGIN_WALL_US;
}

gint64 clock_now_us(void)
{
	return now_us;
}

void clock_move_to(gint64 to_us)
{
	if (to_us <= now_us)
		return;
	wall_us += to_us - now_us;
	now_us = to_us;
}

void clock_jump_wall(gint64 by_us)
{
	wall_us += by_us;
}

static gint64 real_us(clockid_t id)
{
	struct timespec now;

	syscall(SYS_clock_gettime, id, &now);
	return now.tv_sec * SIM_S + now.tv_nsec / 1000;
}

gint64 clock_real_us(void)
{
	return real_us(CLOCK_MONOTONIC);
}

gint64 clock_cpu_us(void)
{
	return real_us(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---- replaced functions ---- */

static struct timespec timespec_of(gint64 us)
{
	return (struct timespec){ us / SIM_S, us % SIM_S * 1000 };
}

static gint64 us_of(const struct timespec *time)
{
	return time->tv_sec * SIM_S + time->tv_nsec / 1000;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
	const gboolean wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;

	*time = timespec_of(wall ? wall_us : now_us);
	return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	*time = (struct timeval){ wall_us / SIM_S, wall_us % SIM_S };
	return 0;
}

time_t time(time_t *where)
{
	if (where)
		*where = wall_us / SIM_S;
	return wall_us / SIM_S;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
	clock_move_to(flags & TIMER_ABSTIME ? us_of(wanted) : now_us + us_of(wanted));
	return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
}

int usleep(useconds_t us)
{
	clock_move_to(now_us + us);
	return 0;
}
