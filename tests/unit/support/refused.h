/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the error of a configuration, loaded as "test.conf", that is rejected for its first
 * line. */
#pragma once

#include <rdmad/error.h>
#include <string.h>

static inline void assert_refused(const GError *error, const char *words)
{
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	g_assert_true(g_str_has_prefix(error->message, "test.conf:1: "));
	if (!strstr(error->message, words))
		g_error("\"%s\" does not speak of \"%s\"", error->message, words);
}
