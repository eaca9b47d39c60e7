/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/events.h"
#include "../support/unit.h"

typedef struct {
	const char *message;
	gsize size;
	gboolean matters;
} Case;

#define CASE(text, matters_)                                                                       \
	{                                                                                          \
		text, sizeof(text) - 1, matters_                                                   \
	}

static const Case cases[] = {
	CASE("add@/devices/x\0ACTION=add\0SUBSYSTEM=infiniband\0SEQNUM=1\0", TRUE),
	CASE("add@/devices/x\0ACTION=add\0SUBSYSTEM=infiniband_verbs\0", TRUE),
	CASE("add@/devices/x\0SUBSYSTEM=net\0", TRUE),
	CASE("add@/devices/pci0000:00/0000:00:05.0/net/eth0\0SUBSYSTEM=net\0", TRUE),
	CASE("add@/devices/virtual/net/veth0\0SUBSYSTEM=net\0", FALSE),
	CASE("add@/devices/virtual/infiniband/rxe0\0SUBSYSTEM=infiniband\0", TRUE),
	CASE("add@/devices/virtual/net/veth0/infiniband/rxe0\0SUBSYSTEM=infiniband\0", TRUE),
	CASE("add@/devices/virtua\0SUBSYSTEM=net\0", TRUE),
	CASE("add@", FALSE),
	CASE("bind@/devices/x\0SUBSYSTEM=pci\0", TRUE),
	CASE("add@/devices/x\0SUBSYSTEM=auxiliary", TRUE), /* without the last NUL */
	CASE("add@/module/erdma\0ACTION=add\0DEVPATH=/module/erdma\0SUBSYSTEM=module\0", TRUE),
	CASE("change@/devices/x\0SUBSYSTEM=power_supply\0", FALSE),
	CASE("change@/devices/x\0SUBSYSTEM=network\0", FALSE),
	CASE("change@/devices/x\0SUBSYSTEM=ne\0", FALSE),
	CASE("change@/devices/x\0SUBSYSTEM=\0", FALSE),
	CASE("change@/devices/x\0XSUBSYSTEM=net\0", FALSE),
	CASE("change@/devices/x\0SUBSYSTEM=block\0SUBSYSTEM=net\0", FALSE),
	CASE("libudev\0SEQNUM", FALSE),
	CASE("\0\0\0", FALSE),
	CASE("", FALSE),
};

static void test_only_what_may_carry_rdma_matters(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		/* Exactly as large as the message, so that a read beyond the end is detected. */
		g_autofree char *copy = g_memdup2(cases[i].message, cases[i].size);

		g_test_message("case %u", i);
		g_assert_cmpint(rdmad_uevent_matters(copy, cases[i].size), ==, cases[i].matters);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/uevent/only_what_may_carry_rdma_matters",
		  test_only_what_may_carry_rdma_matters),
	{ 0 },
};
