/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict reader of exposition text, which aborts at the first error
 *
 * Lines, UTF-8, names, labels, numbers; heads before samples; families in one piece, of names that
 * do not clash with the samples of others; no series twice; "# EOF" last in OpenMetrics and nowhere
 * else.
 */
#pragma once

#include "render/exposition.h"

void exposition_check(const char *text, gsize size, ExpositionFormat format);
