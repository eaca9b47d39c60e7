/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc() of the simulator (memory.c), which some builds do not have
 */
#pragma once

#include <glib.h>

/* Returns the number of blocks that are not freed.  A build with the libc's or a sanitizer's
 * malloc() lacks the function: check its address. */
gsize memory_blocks(void) __attribute__((weak));
