/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "prestart/nic-order.h"
#include "../support/unit.h"

typedef struct {
	GPtrArray *devices, *gpus;
	RdmadGpu nodes[2];
} Fixture;

static void add_nic(Fixture *f, const char *name, const char *path)
{
	RdmadDevice *dev = fixture_device(name, name, 0);

	dev->pci_path = g_strsplit(path, " ", -1);
	g_ptr_array_add(f->devices, dev);
}

static void add_gpu(Fixture *f, const char *address, const char *path)
{
	RdmadGpu *gpu = &f->nodes[f->gpus->len];

	gpu->pci_address = g_strdup(address);
	gpu->pci_path = g_strsplit(path, " ", -1);
	g_ptr_array_add(f->gpus, gpu);
}

static void setup(Fixture *f, gconstpointer data)
{
	f->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	f->gpus = g_ptr_array_new();
	add_nic(f, "mlx5_10", "pci3 port3 nic10");
	add_nic(f, "mlx5_9", "pci3 port4 nic9");
	add_nic(f, "mlx5_2", "pci2 port2 up2 down1 nic2");
	add_nic(f, "mlx5_1", "pci1 port1 up1 down1 nic1");
}

static void teardown(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < f->gpus->len; i++) {
		g_free(f->nodes[i].pci_address);
		g_strfreev(f->nodes[i].pci_path);
	}
	g_ptr_array_unref(f->devices);
	g_ptr_array_unref(f->gpus);
}

static void check_order(Fixture *f, const char *expected)
{
	g_autofree char *conf = NULL;
	g_autofree char *line = g_strdup_printf("\nNCCL_IB_HCA==%s\n", expected);

	nic_order_sort(f->devices, f->gpus);
	conf = nic_order_nccl_conf(f->devices, f->gpus);
	g_assert_nonnull(strstr(conf, line));
	g_assert_cmpint(conf[0], ==, '#');
}

static void test_by_name_without_gpus(Fixture *f, gconstpointer data)
{
	check_order(f, "mlx5_1,mlx5_2,mlx5_9,mlx5_10");
}

static void test_the_nearest_first(Fixture *f, gconstpointer data)
{
	add_gpu(f, "0000:02:00.0", "pci2 port2 up2 down2 gpu0");
	check_order(f, "mlx5_2,mlx5_1,mlx5_9,mlx5_10");
}

static void test_equally_near_in_the_order_of_their_gpus(Fixture *f, gconstpointer data)
{
	add_gpu(f, "0000:02:00.0", "pci2 port2 up2 down2 gpu0");
	add_gpu(f, "0000:01:00.0", "pci1 port1 up1 down2 gpu1");
	check_order(f, "mlx5_2,mlx5_1,mlx5_9,mlx5_10");
}

static void test_the_distance_is_told(Fixture *f, gconstpointer data)
{
	g_autofree char *conf = NULL;

	add_gpu(f, "0000:02:00.0", "pci2 port2 up2 down2 gpu0");
	conf = nic_order_nccl_conf(f->devices, f->gpus);
	g_assert_nonnull(strstr(conf, "\n# mlx5_2: PIX to the GPU at 0000:02:00.0\n"));
}

static void test_nothing_is_said_of_no_device(Fixture *f, gconstpointer data)
{
	g_autofree char *conf = NULL;

	g_ptr_array_set_size(f->devices, 0);
	conf = nic_order_nccl_conf(f->devices, f->gpus);
	g_assert_null(strstr(conf, "NCCL_IB_HCA"));
}

static char *longest_line(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	char *longest = lines[0];

	for (char **line = lines; *line; line++)
		if (strlen(*line) > strlen(longest))
			longest = *line;
	return g_strdup(longest);
}

static void test_a_line_is_as_nccl_can_read_it(Fixture *f, gconstpointer data)
{
	g_autofree char *conf = NULL;
	g_autofree char *line = NULL;
	g_auto(GStrv) names = NULL;

	for (guint i = 0; i < 60; i++) {
		g_autofree char *name = g_strdup_printf("%s-%02u", (const char *)data, i);

		add_nic(f, name, "pci9 port9 nic");
	}
	conf = nic_order_nccl_conf(f->devices, f->gpus);
	line = longest_line(conf);
	names = g_strsplit(line, ",", -1);
	g_assert_cmpuint(strlen(line), <=, 1023);
	g_assert_cmpuint(g_strv_length(names), <=, 32);
}

#define TEST(path, argument, test)                                                                 \
	UNIT_FIXTURE_TEST("/nic-order/" path, Fixture, argument, setup, test, teardown)

const UnitTest unit_tests[] = {
	TEST("by name without gpus", NULL, test_by_name_without_gpus),
	TEST("the nearest first", NULL, test_the_nearest_first),
	TEST("equally near in the order of their gpus", NULL,
	     test_equally_near_in_the_order_of_their_gpus),
	TEST("the distance is told", NULL, test_the_distance_is_told),
	TEST("nothing is said of no device", NULL, test_nothing_is_said_of_no_device),
	TEST("no more devices than nccl takes", "rdma", test_a_line_is_as_nccl_can_read_it),
	TEST("no longer a line than nccl reads",
	     "a-name-that-is-as-long-as-the-kernel-will-ever-have-it-for-a-device",
	     test_a_line_is_as_nccl_can_read_it),
	{ 0 },
};
