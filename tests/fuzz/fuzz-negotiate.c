/* SPDX-License-Identifier: Apache-2.0 */
/* Any headers yield a result, which is independent of case and blanks. */
#include <stdint.h>

#include "render/negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autofree char *upper = g_ascii_strup(text, -1);
	g_autofree char *spaced = g_strdup_printf(" %s\t", text);

	g_assert_cmpint(negotiate_format(text), ==, negotiate_format(upper));
	g_assert_cmpint(negotiate_format(text), ==, negotiate_format(spaced));
	g_assert_cmpint(negotiate_gzip(text), ==, negotiate_gzip(upper));
	g_assert_cmpint(negotiate_gzip(text), ==, negotiate_gzip(spaced));
	return 0;
}
