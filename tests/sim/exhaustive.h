/* SPDX-License-Identifier: Apache-2.0 */
/* Every short scenario, with an end of rdmad at each of its effects, and of the machine with each outcome. */
#pragma once

#include <glib.h>

/* How many runs broke a rule; each is printed. */
guint exhaustive_run(guint job, guint jobs);
