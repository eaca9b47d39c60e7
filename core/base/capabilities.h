/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of this process: capabilities(7).  In a mask, bit N is capability N. */
#pragma once

#include <rdmad/types.h>

/* Returns "CAP_NET_ADMIN, CAP_NET_RAW"; a capability without a name here is its number.
 * g_free(). */
char *rdmad_capabilities_text(guint64 mask);
/* Returns the permitted set of the calling thread. */
guint64 rdmad_capabilities_permitted(void);
/*
 * Limits the permitted, effective and bounding sets of the calling thread and its descendants to
 * `kept`, clears the inheritable and ambient sets, and prevents executed programs from gaining
 * privileges.  Never adds a capability.  Call before starting threads: each thread has its own
 * sets.
 */
gboolean rdmad_capabilities_limit(guint64 kept, GError **error);
