/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of the process */
#pragma once

#include <glib.h>
#include <sys/resource.h>

/* Includes the one that counts them. */
static inline guint count_descriptors(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	guint n = 0;

	while (g_dir_read_name(dir))
		n++;
	return n;
}

/* Lets descriptors below `limit` be opened; open ones stay open.  Returns the limit before. */
static inline rlim_t limit_descriptors(rlim_t limit)
{
	struct rlimit now;
	rlim_t before;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &now), ==, 0);
	before = now.rlim_cur;
	now.rlim_cur = limit;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &now), ==, 0);
	return before;
}
