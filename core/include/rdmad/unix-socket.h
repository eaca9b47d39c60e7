/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets by their paths, which may be longer than the 107 bytes of sun_path. */
#pragma once

#include <rdmad/types.h>

/* What connect() says of a path: 0 (somebody listens), ECONNREFUSED (a stale file), ENOENT, EPROTOTYPE
 * (somebody listens, but for no stream), or another errno. */
RDMAD_API int rdmad_unix_probe(const char *path);
