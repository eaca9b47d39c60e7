/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/device.h>

#include "hardware/device.h"
#include "../support/unit.h"

/* Returns "a b c" as a path; NULL for none. */
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

typedef struct {
	const char *name, *address, *path;
} Function;

static RdmadDevice *device_of(const Function *f)
{
	RdmadDevice *device = rdmad_device_new(f->name, f->name);

	device->pci_address = g_strdup(f->address);
	device->pci_path = path_of(f->path);
	device->numa_node = RDMAD_UNKNOWN;
	return device;
}

static int compare(gconstpointer a, gconstpointer b, gpointer gpus)
{
	return rdmad_nics_compare(*(const RdmadDevice *const *)a, *(const RdmadDevice *const *)b,
				  gpus);
}

/* Returns the sorted names, independent of the given order. */
static char *order_of(const Function *functions, guint n, const GPtrArray *gpus, gboolean backwards)
{
	g_autoptr(GPtrArray) devices =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	GString *order = g_string_new(NULL);

	for (guint i = 0; i < n; i++)
		g_ptr_array_add(devices, device_of(&functions[backwards ? n - 1 - i : i]));
	g_ptr_array_sort_with_data(devices, compare, (gpointer)gpus);
	for (guint i = 0; i < n; i++)
		g_string_append_printf(order, "%s%s", i ? " " : "",
				       ((const RdmadDevice *)devices->pdata[i])->name);
	return g_string_free(order, FALSE);
}

static void test_nics_have_one_order(void)
{
	static const Function nics[] = {
		{ "rxe10", NULL, NULL },
		{ "rxe9", NULL, NULL },
		{ "mlx5_0", "0000:9a:00.0", "pci2 port2 nic" },
		{ "mlx5_1", "0000:1a:00.0", "pci1 port1 nic" },
		{ "mlx5_2", "0000:1b:00.0", "pci1 port3 nic" },
		{ "second", "0000:9a:00.0", "pci2 port2 nic" },
	};
	static const struct {
		const char *gpus[2], *order;
	} cases[] = {
		{ { NULL }, "mlx5_1 mlx5_2 mlx5_0 second rxe9 rxe10" },
		{ { "pci2 port2 gpu" }, "mlx5_0 second mlx5_1 mlx5_2 rxe9 rxe10" },
		{ { "pci1 port3 gpu", "pci2 port2 gpu" },
		  "mlx5_2 mlx5_0 second mlx5_1 rxe9 rxe10" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) gpus = g_ptr_array_new();
		RdmadGpu made[2] = { { .numa_node = RDMAD_UNKNOWN },
				     { .numa_node = RDMAD_UNKNOWN } };

		for (guint g = 0; g < 2 && cases[i].gpus[g]; g++) {
			made[g].pci_path = path_of(cases[i].gpus[g]);
			g_ptr_array_add(gpus, &made[g]);
		}
		for (guint backwards = 0; backwards < 2; backwards++) {
			g_autofree char *order =
				order_of(nics, G_N_ELEMENTS(nics), gpus, backwards);

			g_assert_cmpstr(order, ==, cases[i].order);
		}
		g_strfreev(made[0].pci_path);
		g_strfreev(made[1].pci_path);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/topology/nics_have_one_order", test_nics_have_one_order),
	UNIT_TEST("/topology/distances_are_those_of_nvidia_smi",
		  test_distances_are_those_of_nvidia_smi),
	{ 0 },
};
