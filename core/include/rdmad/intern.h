/* SPDX-License-Identifier: Apache-2.0 */
/* Strings that many hold, each there once; on any thread. */
#pragma once

#include <rdmad/types.h>

RDMAD_API GRefString *rdmad_intern(const char *text);
RDMAD_API void rdmad_intern_release(GRefString *text);
