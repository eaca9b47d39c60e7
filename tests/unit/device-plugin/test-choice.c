/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/choice.h"
#include "fixture.h"
#include "allocate/placement.h"
#include "../support/unit.h"

typedef struct {
	const char *id;
	int numa_node;
	const char *path; /* up to the function itself */
	gint64 rate_mbps;
} Nic;

/* Only the NUMA nodes are known. */
static const Nic PLAIN_NICS[] = {
	{ "a", 0, NULL, 0 },
	{ "b", 0, NULL, 0 },
	{ "c", 1, NULL, 0 },
	{ "d", 1, NULL, 0 },
};

/* a is for management, c for storage; b and d are behind a switch with one GPU, e and f behind a
 * switch with two.  The least preferred are first. */
static const Nic GPU_NODE_NICS[] = {
	{ "a", 0, "pci0 port0", 25000 },
	{ "b", 0, "pci1 port1 up1 down1", 400000 },
	{ "c", 0, "pci2 port2", 200000 },
	{ "d", 0, "pci3 port3 up3 down3", 400000 },
	{ "e", 1, "pci4 port4 up4 down4", 400000 },
	{ "f", 1, "pci4 port4 up4 down5", 400000 },
};

static const struct {
	int numa_node;
	const char *path;
} GPUS[] = {
	{ 0, "pci1 port1 up1 down2 gpu0" },
	{ 0, "pci3 port3 up3 down4 gpu1" },
	{ 1, "pci4 port4 up4 down6 gpu2" },
	{ 1, "pci4 port4 up4 down7 gpu3" },
};

/* One pool with three slots of each device. */
typedef struct {
	Pool *pool;
	GPtrArray *devices;
	RdmadGpu gpu_nodes[G_N_ELEMENTS(GPUS)];
	GArray *gpus;
} Node;

static RdmadDevice *nic_device(const Nic *nic)
{
	RdmadDevice *dev = fixture_device(nic->id, nic->id, nic->numa_node);
	g_autofree char *path = nic->path ? g_strjoin(" ", nic->path, nic->id, NULL) : NULL;

	dev->ports[0].rate_mbps = nic->rate_mbps;
	dev->pci_path = path ? g_strsplit(path, " ", -1) : NULL;
	return dev;
}

static void node_setup(Node *node, const Nic *nics, guint n)
{
	g_autoptr(ResourceSettings) settings =
		fixture_resource("name = \"a/b\"; count = 3; count_per = \"device\";");
	g_autofree PoolMember *members = g_new0(PoolMember, n);
	const PoolView attributes = {
		.now_us = G_USEC_PER_SEC,
		.members = members,
		.n_members = n,
	};

	node->pool = pool_new(settings);
	node->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	node->gpus = g_array_new(FALSE, FALSE, sizeof(PlacementGpu));
	for (guint i = 0; i < n; i++) {
		g_ptr_array_add(node->devices, nic_device(&nics[i]));
		members[i].dev = node->devices->pdata[i];
	}
	pool_update(node->pool, &attributes);
}

/* `held` has a digit for each GPU that a pod has. */
static void node_add_gpus(Node *node, const char *held)
{
	for (guint i = 0; i < G_N_ELEMENTS(GPUS); i++) {
		const PlacementGpu one = { &node->gpu_nodes[i],
					   strchr(held, '0' + (int)i) != NULL };

		node->gpu_nodes[i].numa_node = GPUS[i].numa_node;
		node->gpu_nodes[i].pci_path = g_strsplit(GPUS[i].path, " ", -1);
		g_array_append_val(node->gpus, one);
	}
}

static void node_clear(Node *node)
{
	for (guint i = 0; i < G_N_ELEMENTS(GPUS); i++)
		g_strfreev(node->gpu_nodes[i].pci_path);
	pool_free(node->pool);
	g_ptr_array_unref(node->devices);
	g_array_unref(node->gpus);
}

typedef struct {
	const char *name, *available, *must, *held;
	gsize size;
	const char *expected;
	const char *allocated; /* "?a::0" if its pod is unknown; NULL: none */
} ChoiceCase;

static SlotUse use_of(const char *slot, gpointer allocated)
{
	const char *found = allocated ? strstr(allocated, slot) : NULL;

	if (!found)
		return SLOT_FREE;
	return found > (const char *)allocated && found[-1] == '?' ? SLOT_OF_UNKNOWN : SLOT_HELD;
}

static void node_check(Node *node, const ChoiceCase *one)
{
	g_auto(GStrv) available = g_strsplit(one->available, " ", -1);
	g_auto(GStrv) must = g_strsplit(one->must, " ", -1);
	const Preference preference = {
		.available = available,
		.n_available = g_strv_length(available),
		.must = must,
		.n_must = g_strv_length(must),
		.size = one->size,
		.use_of = use_of,
		.data = (gpointer)one->allocated,
	};
	g_autoptr(GPtrArray) chosen = choice_make(node->pool, node->gpus, &preference);
	g_autofree char *text = NULL;

	g_ptr_array_add(chosen, NULL);
	text = g_strjoinv(" ", (char **)chosen->pdata);
	g_assert_cmpstr(text, ==, one->expected);
}

#define PLAIN "d::2 d::1 d::0 c::2 c::1 c::0 b::2 b::1 b::0 a::2 a::1 a::0"

static const ChoiceCase PLAIN_CASES[] = {
	{ "one of all is the first", PLAIN, "", "", 1, "a::0" },
	{ "two are two devices of one node", PLAIN, "", "", 2, "a::0 b::0" },
	{ "three are three devices", PLAIN, "", "", 3, "a::0 b::0 c::0" },
	{ "five are all devices and one again", PLAIN, "", "", 5, "a::0 b::0 c::0 d::0 a::1" },
	{ "the device with the fewest in use goes first", "a::1 a::2 b::0 b::1 b::2", "", "", 1,
	  "b::0" },
	{ "two fit on one node only", "a::0 a::1 c::0 d::1", "", "", 2, "c::0 d::1" },
	{ "what must be in is first and its node preferred", PLAIN, "c::1", "", 2, "c::1 d::0" },
	{ "what must be in counts for its device", PLAIN, "c::1 d::1", "", 4,
	  "c::1 d::1 a::0 b::0" },
	{ "only what must be in", PLAIN, "b::0 b::1", "", 2, "b::0 b::1" },
	{ "less than asked for when there is no more", "a::0", "", "", 3, "a::0" },
	{ "unknown ids are passed over", "x::0 y::0 b::2", "", "", 1, "b::2" },
	{ "what an allocation has is passed over", PLAIN, "", "", 2, "b::0 a::1", "a::0" },
	{ "whatever the devices", "a::0 a::1 b::0", "", "", 2, "a::0 a::1", "b::0" },
	{ "what an allocation has comes last", "a::0 a::1 b::0", "", "", 3, "a::1 b::0 a::0",
	  "a::0" },
	{ "what must be in may be allocated", PLAIN, "c::1", "", 2, "c::1 d::0", "c::1" },
	{ "what a pod has comes after what a pod may have had", "a::0 b::0 c::0", "", "", 2,
	  "c::0 b::0", "a::0 ?b::0" },
	{ "all are allocated", "a::0 b::0", "", "", 1, "a::0", "a::0 b::0" },
	{ "nothing is asked for", PLAIN, "", "", 0, "" },
	{ "nothing is offered", "", "", "", 2, "" },
};

static void test_plain(gconstpointer data)
{
	Node node = { 0 };

	node_setup(&node, PLAIN_NICS, G_N_ELEMENTS(PLAIN_NICS));
	node_check(&node, data);
	node_clear(&node);
}

#define GPU_NODE "f::1 f::0 e::1 e::0 d::1 d::0 c::1 c::0 b::1 b::0 a::1 a::0"

static const ChoiceCase GPU_NODE_CASES[] = {
	{ "one is near a gpu", GPU_NODE, "", "", 1, "b::0" },
	{ "two are behind one switch", GPU_NODE, "", "", 2, "e::0 f::0" },
	{ "what has no gpu comes last, the slowest at the end", GPU_NODE, "", "", 6,
	  "e::0 f::0 b::0 d::0 c::0 a::0" },
	{ "every device comes before a second slot of one", GPU_NODE, "", "", 7,
	  "e::0 f::0 b::0 d::0 c::0 a::0 e::1" },
	{ "near a free gpu before near a held one", GPU_NODE, "", "0", 1, "d::0" },
	{ "one free gpu of two behind a switch is enough", GPU_NODE, "", "2", 2, "e::0 f::0" },
	{ "two free gpus on one numa node, their neighbours both taken", GPU_NODE, "", "23", 2,
	  "b::0 d::0" },
	{ "near a held gpu before storage", GPU_NODE, "", "01", 3, "e::0 f::0 b::0" },
	{ "all held is as none held", GPU_NODE, "", "0123", 1, "b::0" },
	{ "what must be in draws its numa node", GPU_NODE, "a::0", "", 2, "a::0 b::0" },
	{ "what must be in draws its switch", GPU_NODE, "f::0", "", 2, "f::0 e::0" },
	{ "storage alone can be had", "c::0 a::0", "", "", 2, "c::0 a::0" },
	{ "a device that pods use comes after its equals", "b::1 d::0 d::1 d::2 e::0 f::0 f::1", "",
	  "", 1, "d::0" },
};

static void test_gpu_node(gconstpointer data)
{
	const ChoiceCase *one = data;
	Node node = { 0 };

	node_setup(&node, GPU_NODE_NICS, G_N_ELEMENTS(GPU_NODE_NICS));
	node_add_gpus(&node, one->held);
	node_check(&node, one);
	node_clear(&node);
}

static void test_faster_ports_go_first_without_a_gpu(void)
{
	static const ChoiceCase one = {
		NULL, GPU_NODE, "", "", 6, "e::0 f::0 b::0 d::0 c::0 a::0"
	};
	Node node = { 0 };

	node_setup(&node, GPU_NODE_NICS, G_N_ELEMENTS(GPU_NODE_NICS));
	node_check(&node, &one);
	node_clear(&node);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/choice/plain/", PLAIN_CASES, test_plain),
	UNIT_CASES("/choice/gpu node/", GPU_NODE_CASES, test_gpu_node),
	UNIT_TEST("/choice/faster ports go first without a gpu",
		  test_faster_ports_go_first_without_a_gpu),
	{ 0 },
};
