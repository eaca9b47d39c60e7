/* SPDX-License-Identifier: Apache-2.0 */
/* A fake clock that a test advances. */
#pragma once

#include <glib.h>

static gint64 now_us = 1;

static inline gint64 fake_clock(void)
{
	return now_us;
}
