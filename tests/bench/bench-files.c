/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-files ROOT [netdevs]
 *
 * For each line of its input the CPU time, in microseconds, that it takes to open the files of all
 * counters and states by their absolute paths, to read and to close them.  It waits meanwhile, so
 * that the baseline of a scrape can be measured after the same pause as the scrape.  The first line
 * has the number of files.
 */
#include <stdio.h>

#include "counter-files.h"
#include "hardware/scan/scan.h"
#include "hardware/sysroot.h"

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) files = NULL;
	g_autoptr(RdmadScan) found = NULL;
	g_autoptr(RdmadSysroot) root = NULL;
	char line[16];

	if (argc < 2) {
		fputs("usage: bench-files ROOT [netdevs]\n", stderr);
		return 2;
	}
	root = rdmad_sysroot_new(argv[1], &error);
	found = root ? rdmad_scan_sysfs(root, &error) : NULL;
	if (!found)
		g_error("%s", error->message);
	files = counter_files_new(argv[1], found->devices, argc > 2);
	printf("%u\n", files->len);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.1f\n", (double)counter_files_read(files) / 1000);
		fflush(stdout);
	}
	return 0;
}
