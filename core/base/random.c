/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/random.h>

#include <sys/random.h>

guint32 rdmad_random(void)
{
	return g_random_int();
}

guint32 rdmad_random_range(guint32 low, guint32 high)
{
	g_assert(low < high);
	return low + g_random_int() % (high - low);
}

gboolean rdmad_random_secret(guint8 *bytes, gsize size)
{
	return getrandom(bytes, size, 0) == (gssize)size;
}
