/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workshop: a directory of the kernel, in which the machine is expanded
 *
 * It is removed when the process has ended, also by SIGKILL.
 */
#pragma once

#include <glib.h>

/* Returns the path. */
char *workshop_make(void);
