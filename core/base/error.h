/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>

/* Returns TRUE for an errno that says nothing about the file: a later call may succeed. */
gboolean rdmad_errno_may_pass(int errnum);
