/* SPDX-License-Identifier: Apache-2.0 */
/* libconfig 1.5 leaks a string before a syntax error */
#pragma once

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}
