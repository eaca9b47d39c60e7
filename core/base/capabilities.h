/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of this process: capabilities(7).  A set is a mask, bit N of it capability N. */
#pragma once

#include <rdmad/types.h>

/* Those that the calling thread may have. */
guint64 rdmad_capabilities_permitted(void);
/*
 * Leaves the calling thread, and all that it starts, with what it has of `kept`: permitted, effective and
 * bounding set; nothing is inheritable or ambient, and no program that it executes gets more.  Never gives any.
 * Before there are other threads: each has its own.
 */
gboolean rdmad_capabilities_limit(guint64 kept, GError **error);
