/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a machine that have states and counters, opened, read and closed: the baseline of a
 * scrape. */
#pragma once

#include <glib.h>
#include <rdmad/types.h>

/* Absolute paths, those of all ports.  `netdevs`: with the changes of the carrier of their
 * interfaces. */
GPtrArray *counter_files_new(const char *root, const GPtrArray *devices, gboolean netdevs);
/* CPU time of this thread, in nanoseconds, that reading each of them once took. */
gint64 counter_files_read(const GPtrArray *files);
/* CPU time that this thread has had. */
gint64 counter_files_clock(void);
