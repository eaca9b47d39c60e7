/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/clock.h>

gint64 rdmad_now_us(void)
{
	return g_get_monotonic_time();
}

gint64 rdmad_wall_us(void)
{
	return g_get_real_time();
}
