/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses from text. */
#pragma once

#include <rdmad/address.h>

/* `text` NULL: no address. */
static inline RdmadIp ip(const char *text)
{
	RdmadIp parsed = { 0 };

	if (text)
		g_assert_true(rdmad_ip_parse(text, &parsed, NULL));
	return parsed;
}
