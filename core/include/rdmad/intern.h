/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: equal strings share one copy; for any thread */
#pragma once

#include <rdmad/types.h>

/* Returns the shared copy of `text`, with a reference for rdmad_intern_release(). */
RDMAD_API GRefString *rdmad_intern(const char *text);
RDMAD_API void rdmad_intern_release(GRefString *text);
