/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that stands still until a test moves it. */
#pragma once

#include <glib.h>

static gint64 now_us = 1;

static inline gint64 fake_clock(void)
{
	return now_us;
}
