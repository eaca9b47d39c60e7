/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every short scenario with an end of rdmad at each of its effects, and of the machine with
 * each outcome of the disk. */
#pragma once

#include <glib.h>

/* Returns the number of runs that broke a rule; prints each of them. */
guint exhaustive_run(guint job, guint jobs);
