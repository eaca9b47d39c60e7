/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions are GPUs; the IDs and classes are those of real ones, as lspci -nn prints
 * them. */
#include "hardware/device.h"
#include "hardware/scan/parts.h"

#include "machine.h"
#include "../support/unit.h"

#define DEVICE "sys/bus/pci/devices/0000:01:00.0/"

static void test_functions_are_gpus_by_class_vendor_and_id(void)
{
	static const struct {
		const char *name, *class, *vendor, *device; /* device NULL: unreadable */
		gboolean is_gpu;
	} cases[] = {
		{ "Instinct MI60", "0x030000", "0x1002", "0x66a1", TRUE },
		{ "Instinct MI25", "0x030000", "0x1002", "0x6860", TRUE },
		{ "Instinct MI60 of another class", "0x038000", "0x1002", "0x66a1", TRUE },
		{ "Instinct MI100", "0x038000", "0x1002", "0x738c", TRUE },
		{ "Instinct MI250X", "0x038000", "0x1002", "0x7408", TRUE },
		{ "Instinct MI300X", "0x120000", "0x1002", "0x74a1", TRUE },
		{ "Instinct MI300A, of a processor", "0x120000", "0x1002", "0x74a0", TRUE },
		{ "Radeon Pro W7900", "0x030000", "0x1002", "0x7448", TRUE },
		{ "graphics of Renoir", "0x030000", "0x1002", "0x1636", FALSE },
		{ "graphics of Raphael, beside a BMC's", "0x038000", "0x1002", "0x164e", FALSE },
		{ "graphics of Stoney", "0x030000", "0x1002", "0x98e4", FALSE },
		{ "ES1000, of a management controller", "0x030000", "0x1002", "0x515e", FALSE },
		{ "AMD, an unreadable ID", "0x030000", "0x1002", NULL, FALSE },
		{ "AMD, an accelerator with an unreadable ID", "0x120000", "0x1002", NULL, TRUE },
		{ "audio of an MI60", "0x040300", "0x1002", "0xab20", FALSE },
		{ "Data Center GPU Max 1550", "0x038000", "0x8086", "0x0bd5", TRUE },
		{ "Data Center GPU Flex 170", "0x038000", "0x8086", "0x56c0", TRUE },
		{ "Arc A770", "0x030000", "0x8086", "0x56a0", TRUE },
		{ "Arc B580", "0x030000", "0x8086", "0xe20b", TRUE },
		{ "UHD 770", "0x030000", "0x8086", "0x4680", FALSE },
		{ "UHD P630, beside a BMC's", "0x038000", "0x8086", "0x3e96", FALSE },
		{ "Atom's graphics, near the IDs of Max", "0x030000", "0x8086", "0x0be1", FALSE },
		{ "FPGA of class 1200", "0x120000", "0x8086", "0x09c4", FALSE },
		{ "NPU of class 1200", "0x120000", "0x8086", "0x7d1d", FALSE },
		{ "Gaudi 2", "0x120000", "0x1da3", "0x1020", TRUE },
		{ "H100", "0x030200", "0x10de", "0x2330", TRUE },
		{ "RTX A6000", "0x030000", "0x10de", "0x2230", TRUE },
		{ "H100, an unreadable ID", "0x030200", "0x10de", NULL, TRUE },
		{ "NVSwitch", "0x068000", "0x10de", "0x22a3", FALSE },
		{ "Ascend 910B", "0x120000", "0x19e5", "0xd802", TRUE },
		{ "ZIP engine of Kunpeng", "0x120000", "0x19e5", "0xa250", FALSE },
		{ "iBMC of Huawei", "0x030000", "0x19e5", "0x1711", FALSE },
		{ "ASPEED", "0x030000", "0x1a03", "0x2000", FALSE },
		{ "Matrox G200eW3", "0x030000", "0x102b", "0x0536", FALSE },
		{ "virtio", "0x038000", "0x1af4", "0x1050", FALSE },
		{ "QEMU", "0x030000", "0x1234", "0x1111", FALSE },
		{ "Hyper-V", "0x030000", "0x1414", "0x5353", FALSE },
		{ "Alveo", "0x120000", "0x10ee", "0x5000", FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TestMachine) machine = test_machine_new_empty();
		g_autoptr(GPtrArray) gpus =
			g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_gpu_free);

		g_test_message("%s", cases[i].name);
		test_machine_put(machine, DEVICE "class", cases[i].class, -1);
		test_machine_put(machine, DEVICE "vendor", cases[i].vendor, -1);
		if (cases[i].device)
			test_machine_put(machine, DEVICE "device", cases[i].device, -1);
		rdmad_scan_gpus(machine->root, gpus);
		g_assert_cmpuint(gpus->len, ==, cases[i].is_gpu);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/gpu/by class, vendor and id", test_functions_are_gpus_by_class_vendor_and_id),
	{ 0 },
};
