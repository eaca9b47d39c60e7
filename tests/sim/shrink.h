/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinks a failing run: fewer steps, then smaller values, as long as the same rule is broken */
#pragma once

#include "decisions.h"

/* Returns the rule that a run breaks, or NULL.  Uses another process, because a crash is a result
 * too. */
char *shrink_try(Decisions *decisions);
/* Takes over `failing`, which was run. */
Decisions *shrink(Decisions *failing, const char *rule);
