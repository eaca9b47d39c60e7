/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets by path, which may be longer than the 107 bytes of sun_path (unix(7)). */
#pragma once

#include <rdmad/types.h>

/* Returns the errno of connect(2) to a path: 0 (a server listens), EAGAIN (its backlog is full),
 * ECONNREFUSED (a stale file), ENOENT, EPROTOTYPE (a server listens, but not for streams), or
 * another. */
RDMAD_API int rdmad_unix_probe(const char *path);
