/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workshop: a directory of the kernel's, for files that cannot be in memory (tree.h)
 *
 * It is removed when the process has ended, also by SIGKILL.
 */
#pragma once

#include <glib.h>

/* Returns the path. */
char *workshop_make(void);
