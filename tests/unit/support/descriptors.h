/* SPDX-License-Identifier: Apache-2.0 */
/* The number of open descriptors of the process, including the one that counts them. */
#pragma once

#include <glib.h>

static inline guint count_descriptors(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	guint n = 0;

	while (g_dir_read_name(dir))
		n++;
	return n;
}
