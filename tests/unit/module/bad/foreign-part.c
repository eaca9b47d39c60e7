/* SPDX-License-Identifier: Apache-2.0 */
/* A part of another version of rdmad: its version is where the daemon expects it */
#include <rdmad/types.h>

RDMAD_API extern const char *const rdmad_part[1];
const char *const rdmad_part[1] = { "0.0.0" };
