/* SPDX-License-Identifier: Apache-2.0 */
/* read-ethtool INTERFACE: all statistics of its driver, in the form of `ethtool -S`. */
#include <errno.h>
#include <stdio.h>

#include "hardware/counters/ethtool.h"

static gboolean anything(const char *name)
{
	return TRUE;
}

static void print(const char *name, guint64 value, gpointer data)
{
	printf("     %s: %" G_GUINT64_FORMAT "\n", name, value);
}

int main(int argc, char **argv)
{
	g_autoptr(RdmadEthtoolStats) stats =
		argc == 2 ? rdmad_ethtool_stats_new(argv[1], anything) : NULL;
	const int errnum = stats ? rdmad_ethtool_stats_read(stats, print, NULL) : EINVAL;

	if (errnum)
		fprintf(stderr, "%s\n", g_strerror(errnum));
	return errnum != 0;
}
