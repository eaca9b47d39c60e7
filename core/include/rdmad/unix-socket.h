/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets by their paths, which may be longer than the 107 bytes of sun_path. */
#pragma once

#include <rdmad/types.h>

/* The errno of connect() to a path: 0 (a server listens), ECONNREFUSED (a stale file), ENOENT,
 * EPROTOTYPE (a server listens, but not for streams), or another. */
RDMAD_API int rdmad_unix_probe(const char *path);
