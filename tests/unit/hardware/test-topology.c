/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/device.h>

#include "../support/unit.h"

/* "a b c" as a path; NULL for none. */
static char **path_of(const char *text)
{
	return text ? g_strsplit(text, " ", -1) : NULL;
}

static void test_distances_are_those_of_nvidia_smi(void)
{
	static const struct {
		const char *why;
		const char *a;
		int numa_a;
		const char *b;
		int numa_b;
		RdmadDistance distance;
	} table[] = {
		{ "the function itself", "pci0000:17 0000:17:01.0 0000:18:00.0", 0,
		  "pci0000:17 0000:17:01.0 0000:18:00.0", 0, RDMAD_DISTANCE_SELF },
		{ "two functions of one card", "pci0000:17 0000:17:01.0 0000:18:00.0", 0,
		  "pci0000:17 0000:17:01.0 0000:18:00.1", 0, RDMAD_DISTANCE_PIX },
		{ "two downstream ports of one switch",
		  "pci0000:17 0000:17:01.0 0000:18:00.0 0000:19:00.0 0000:1a:00.0", 0,
		  "pci0000:17 0000:17:01.0 0000:18:00.0 0000:19:01.0 0000:1b:00.0", 0,
		  RDMAD_DISTANCE_PIX },
		{ "a second switch on one side",
		  "pci0000:17 0000:17:01.0 0000:18:00.0 0000:19:00.0 0000:1a:00.0", 0,
		  "pci0000:17 0000:17:01.0 0000:18:00.0 0000:19:01.0 0000:1b:00.0 0000:1c:00.0 "
		  "0000:1d:00.0",
		  0, RDMAD_DISTANCE_PXB },
		{ "two root ports of one host bridge", "pci0000:17 0000:17:01.0 0000:18:00.0", 0,
		  "pci0000:17 0000:17:03.0 0000:2a:00.0", 0, RDMAD_DISTANCE_PHB },
		{ "both on the root bus, as in many virtual machines", "pci0000:00 0000:00:05.0",
		  -1, "pci0000:00 0000:00:06.0", -1, RDMAD_DISTANCE_PHB },
		{ "another host bridge of the same node", "pci0000:17 0000:17:01.0 0000:18:00.0", 1,
		  "pci0000:3a 0000:3a:01.0 0000:3b:00.0", 1, RDMAD_DISTANCE_NODE },
		{ "another node", "pci0000:17 0000:17:01.0 0000:18:00.0", 0,
		  "pci0000:97 0000:97:01.0 0000:98:00.0", 1, RDMAD_DISTANCE_SYS },
		{ "nobody says which node", "pci0000:17 0000:17:01.0 0000:18:00.0", -1,
		  "pci0000:97 0000:97:01.0 0000:98:00.0", -1, RDMAD_DISTANCE_SYS },
		{ "a software device", NULL, -1, "pci0000:17 0000:17:01.0 0000:18:00.0", 0,
		  RDMAD_DISTANCE_SYS },
		{ "an empty path", "", 0, "", 0, RDMAD_DISTANCE_SYS },
	};

	for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
		g_auto(GStrv) a = path_of(table[i].a);
		g_auto(GStrv) b = path_of(table[i].b);

		g_test_message("%s", table[i].why);
		g_assert_cmpstr(rdmad_distance_name(
					rdmad_pci_distance(a, table[i].numa_a, b, table[i].numa_b)),
				==, rdmad_distance_name(table[i].distance));
		g_assert_cmpint(rdmad_pci_distance(b, table[i].numa_b, a, table[i].numa_a), ==,
				table[i].distance);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/topology/distances_are_those_of_nvidia_smi",
		  test_distances_are_those_of_nvidia_smi),
	{ 0 },
};
