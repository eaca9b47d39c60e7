/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a failing run smaller: fewer steps, then smaller values, as long as the same rule is broken. */
#pragma once

#include "decisions.h"

/* The broken rule of a run, in a process of its own, so that a crash is a result too; NULL: none. */
char *shrink_try(Decisions *decisions, guint steps);
/* Takes `failing` over, which was run. */
Decisions *shrink(Decisions *failing, const char *rule, guint steps);
