/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "support/unit.h"

/* Choices as text: "eth1=0000:3b:00.0 shared t1; ...". */
static char *chosen_text(const GPtrArray *choices)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < choices->len; i++) {
		const CniChoice *choice = choices->pdata[i];

		g_string_append_printf(text, "%s%s=%s %s %s", i ? "; " : "", choice->ifname,
				       choice->device->id, cni_modes[choice->mode],
				       choice->slot_id ? choice->slot_id : "-");
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* A pod that was allocated two slots of each of two NICs, a virtual function and an InfiniBand
 * port. */
typedef struct {
	const RdmadDevice *devices[5];
	CniSlot slots[6];
} World;

static void world_make(World *world, CniMode mode)
{
	RdmadDevice *vf = fixture_device("0000:3b:00.2", "mlx5_2", "ens1f0v0");
	RdmadDevice *ib = fixture_device("0000:86:00.0", "mlx5_3", "ib0");

	vf->pci_role = RDMAD_PCI_VF;
	ib->ports[0].link_layer = RDMAD_LINK_LAYER_INFINIBAND;
	*world = (World){ .devices = { fixture_device("0000:5e:00.0", "mlx5_1", "ens2f0"),
				       fixture_device("0000:3b:00.0", "mlx5_0", "ens1f0"), vf, ib,
				       fixture_device("0000:99:00.0", "mlx5_4", NULL) } };
	/* Unsorted, as podresources may list them. */
	world->slots[0] = (CniSlot){ "a", "r/hca", "0000:5e:00.0::2", world->devices[0], mode };
	world->slots[1] = (CniSlot){ "a", "r/hca", "0000:3b:00.0::2", world->devices[1], mode };
	world->slots[2] = (CniSlot){ "a", "r/hca", "0000:3b:00.0::1", world->devices[1], mode };
	world->slots[3] = (CniSlot){ "b", "r/vf", "0000:3b:00.2", vf, CNI_MODE_EXCLUSIVE };
	world->slots[4] = (CniSlot){ "c", "r/ib", "0000:86:00.0::1", ib, CNI_MODE_SHARED };
	world->slots[5] =
		(CniSlot){ "d", "r/gone", "0000:99:00.0", world->devices[4], CNI_MODE_EXCLUSIVE };
}

static void world_clear(World *world)
{
	for (guint i = 0; i < G_N_ELEMENTS(world->devices); i++)
		rdmad_device_unref(world->devices[i]);
}

#define HCA	",\"resourceName\":\"r/hca\""
#define CHAINED ",\"prevResult\":{\"interfaces\":[{\"name\":\"eth1\"}]}"
#define MULTI	CNI_MODE_SHARED_MULTI

static const CniUse no_use = { 0 };

static const struct {
	const char *settings, *keys, *annotation;
	CniMode mode;
	gboolean unallocated; /* by another device plugin, or by hand */
	CniUse use;	      /* one attachment that exists */
	int code;	      /* 0: `expected` is the choice; else a part of the message */
	const char *expected;
} cases[] = {
	/* ---- alone: the next one ---- */
	{ "", HCA, NULL, MULTI, .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::1" },
	{ "", HCA, NULL, MULTI, .use = { "c1", "eth9", "0000:3b:00.0", "0000:3b:00.0::1", MULTI },
	  .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::2" },
	/* A repeated request gets the same result. */
	{ "", HCA, NULL, MULTI, .use = { "c1", "eth1", "0000:3b:00.0", "0000:3b:00.0::1", MULTI },
	  .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::1" },
	{ "", ",\"resourceName\":\"r/vf\"", NULL, MULTI,
	  .expected = "eth1=0000:3b:00.2 sriov 0000:3b:00.2" },
	{ "", ",\"resourceName\":\"r/ib\"", NULL, MULTI,
	  .expected = "eth1=0000:86:00.0 ipoib 0000:86:00.0::1" },
	{ "", ",\"resourceName\":\"r/x\"", NULL, MULTI, .code = CNI_ERROR_ALLOCATION,
	  .expected = "the pod was allocated 0 of r/x" },
	{ "", "", NULL, MULTI, .unallocated = TRUE, .code = CNI_ERROR_ALLOCATION,
	  .expected = "the pod was allocated 0, so none" },
	{ "", ",\"resourceName\":\"r/gone\"", NULL, MULTI, .code = CNI_ERROR_DEVICE,
	  .expected = "has no network interface here" },
	/* ---- by its id, as various plugins write it ---- */
	{ "", ",\"deviceID\":\"0000:3b:00.0::2\"", NULL, MULTI,
	  .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::2" },
	{ "", ",\"deviceID\":\"0000:5e:00.0@7\"", NULL, MULTI,
	  .expected = "eth1=0000:5e:00.0 shared-multi 0000:5e:00.0::2" },
	{ "", ",\"deviceID\":\"mlx5_1/3\"", NULL, MULTI,
	  .expected = "eth1=0000:5e:00.0 shared-multi 0000:5e:00.0::2" },
	{ "", ",\"deviceID\":\"0000:3b:00.2\"", NULL, MULTI,
	  .expected = "eth1=0000:3b:00.2 sriov 0000:3b:00.2" },
	{ "", HCA ",\"deviceID\":\"0000:86:00.0\"", NULL, MULTI, .code = CNI_ERROR_ALLOCATION,
	  .expected = "is not among the 3 that the pod was allocated" },
	{ "", ",\"deviceID\":\"0000:3b:00.0\"", NULL, MULTI, .unallocated = TRUE,
	  .expected = "eth1=0000:3b:00.0 shared -" },
	{ "", ",\"deviceID\":\"0000:3b:00.2\"", NULL, MULTI, .unallocated = TRUE,
	  .expected = "eth1=0000:3b:00.2 sriov -" },
	{ "", ",\"deviceID\":\"mlx5_10\"", NULL, MULTI, .unallocated = TRUE,
	  .code = CNI_ERROR_DEVICE, .expected = "there is no RDMA device \"mlx5_10\"" },
	/* ---- behind another plugin ---- */
	{ "", HCA CHAINED, NULL, MULTI,
	  .expected = "eth2=0000:3b:00.0 shared-multi 0000:3b:00.0::1; eth3=0000:3b:00.0 "
		      "shared-multi 0000:3b:00.0::2; eth4=0000:5e:00.0 shared-multi "
		      "0000:5e:00.0::2" },
	{ "", CHAINED, NULL, MULTI, .unallocated = TRUE, .expected = "" },
	/* CNI_IFNAME is the name of this one. */
	{ "", ",\"deviceID\":\"0000:3b:00.0\"" CHAINED, NULL, MULTI, .unallocated = TRUE,
	  .expected = "eth2=0000:3b:00.0 shared -" },
	/* So is that of another network of this container, but not of another container. */
	{ "", ",\"deviceID\":\"0000:3b:00.0\"" CHAINED, NULL, MULTI, .unallocated = TRUE,
	  .use = { "c1", "eth2", "0000:5e:00.0", NULL, MULTI },
	  .expected = "eth3=0000:3b:00.0 shared -" },
	{ "", ",\"deviceID\":\"0000:3b:00.0\"" CHAINED, NULL, MULTI, .unallocated = TRUE,
	  .use = { "c2", "eth2", "0000:5e:00.0", NULL, MULTI },
	  .expected = "eth2=0000:3b:00.0 shared -" },
	{ "", HCA CHAINED, NULL, MULTI,
	  .use = { "c1", "eth2", "0000:3b:00.0", "0000:3b:00.0::1", MULTI },
	  .expected = "eth3=0000:3b:00.0 shared-multi 0000:3b:00.0::2; eth4=0000:5e:00.0 "
		      "shared-multi 0000:5e:00.0::2" },
	{ "", HCA CHAINED, "[{},{\"deviceConf\":{\"ifName\":\"rail1\"}}]", MULTI,
	  .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::1; rail1=0000:3b:00.0 "
		      "shared-multi 0000:3b:00.0::2" },
	/* The first entry is the other plugin's interface. */
	{ "", HCA CHAINED, "[{\"master\":true},{},{\"master\":true}]", MULTI,
	  .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::1; eth2=0000:3b:00.0 "
		      "shared-multi 0000:3b:00.0::2" },
	{ "", HCA CHAINED, "[{\"master\":false},{}]", MULTI,
	  .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::1; eth2=0000:3b:00.0 "
		      "shared-multi 0000:3b:00.0::2" },
	{ "annotation_networks = ( \"rdma\" );", HCA CHAINED,
	  "[{\"cniConf\":{\"name\":\"x\"}},{\"cniConf\":{\"name\":\"rdma\"}}]", MULTI,
	  .expected = "eth2=0000:3b:00.0 shared-multi 0000:3b:00.0::1" },
	{ "", HCA CHAINED, "[{},{},{},{}]", MULTI, .code = CNI_ERROR_ALLOCATION,
	  .expected = "entry 4: eth4 needs a device, and the pod was allocated 3 of r/hca, all" },
	{ "", HCA CHAINED, "[]", MULTI, .expected = "" },
	/* ---- modes ---- */
	{ "networks = ( { name = \"n\"; mode = \"shared\"; } );", HCA, NULL, CNI_MODE_EXCLUSIVE,
	  .expected = "eth1=0000:3b:00.0 shared 0000:3b:00.0::1" },
	{ "networks = ( { name = \"n\"; mode = \"exclusive\"; } );", HCA, NULL, CNI_MODE_SHARED,
	  .code = CNI_ERROR_ALLOCATION, .expected = "was allocated shared" },
	{ "", HCA ",\"mode\":\"shared\"", NULL, CNI_MODE_EXCLUSIVE,
	  .expected = "eth1=0000:3b:00.0 shared 0000:3b:00.0::1" },
	{ "", HCA ",\"mode\":\"exclusive\"", NULL, CNI_MODE_SHARED, .code = CNI_ERROR_ALLOCATION,
	  .expected = "was allocated shared" },
	{ "", HCA ",\"mode\":\"fast\"", NULL, MULTI, .code = CNI_ERROR_CONFIG,
	  .expected = "mode: \"fast\"" },
	{ "networks = ( { name = \"n\"; mode = \"shared\"; } );", HCA ",\"mode\":\"exclusive\"",
	  NULL, CNI_MODE_EXCLUSIVE, .code = CNI_ERROR_CONFIG,
	  .expected = "\"n\" of rdmad.conf, which has ens1f0, is shared" },
	{ "networks = ( { name = \"n\"; netdevs = \"x\"; mode = \"shared\"; } );",
	  HCA ",\"policy\":\"n\"", NULL, MULTI,
	  .expected = "eth1=0000:3b:00.0 shared 0000:3b:00.0::1" },
	{ "", HCA ",\"policy\":\"n\"", NULL, MULTI, .code = CNI_ERROR_CONFIG,
	  .expected = "rdmad.conf has no network \"n\"" },
	/* ---- who has it already ---- */
	{ "", HCA, NULL, CNI_MODE_EXCLUSIVE,
	  .use = { "c2", "eth1", "0000:3b:00.0", NULL, CNI_MODE_SHARED }, .code = CNI_ERROR_HELD,
	  .expected = "0000:3b:00.0 is eth1 of container c2, as shared" },
	{ "", HCA, NULL, MULTI, .use = { "c2", "eth1", "0000:3b:00.0", NULL, CNI_MODE_EXCLUSIVE },
	  .code = CNI_ERROR_HELD,
	  .expected = "0000:3b:00.0 is eth1 of container c2, as exclusive" },
	{ "", HCA, NULL, MULTI, .use = { "c2", "eth1", "0000:3b:00.0", NULL, MULTI },
	  .expected = "eth1=0000:3b:00.0 shared-multi 0000:3b:00.0::1" },
	{ "", HCA CHAINED, "[{},{},{}]", CNI_MODE_SHARED, .code = CNI_ERROR_ALLOCATION,
	  .expected = "entry 3: eth3 needs a device" },
	/* Two shared slots of one NIC are one interface. */
	{ "", HCA CHAINED, "[{},{}]", CNI_MODE_SHARED,
	  .expected = "eth1=0000:3b:00.0 shared 0000:3b:00.0::1; eth2=0000:5e:00.0 shared "
		      "0000:5e:00.0::2" },
	{ "", HCA CHAINED, NULL, CNI_MODE_SHARED,
	  .expected = "eth2=0000:3b:00.0 shared 0000:3b:00.0::1; eth3=0000:5e:00.0 shared "
		      "0000:5e:00.0::2" },
};

static void test_the_nic_that_is_meant_is_chosen(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(CniSettings) settings = fixture_settings(cases[i].settings, NULL);
		g_autoptr(CniRequest) request = fixture_request(cases[i].keys);
		g_autoptr(GPtrArray) entries =
			cases[i].annotation ? cni_annotation_parse(cases[i].annotation, NULL)
					    : NULL;
		g_autoptr(GPtrArray) choices = NULL;
		g_autoptr(GError) error = NULL;
		g_autofree char *text = NULL;
		World world;

		world_make(&world, cases[i].mode);
		choices = cni_choose(
			&(CniChoiceInput){ .settings = settings,
					   .request = request,
					   .slots = world.slots,
					   .n_slots = cases[i].unallocated ? 0 : 6,
					   .devices = world.devices,
					   .n_devices = 5,
					   .uses = &cases[i].use,
					   .n_uses = cases[i].use.device_id != no_use.device_id },
			entries, &error);
		text = choices ? chosen_text(choices) : g_strdup(error->message);
		g_test_message("%u: %s %s: %s", i, cases[i].keys, cases[i].annotation, text);
		g_assert_cmpint(error ? cni_error_code(error) : 0, ==, cases[i].code);
		if (cases[i].code)
			g_assert_nonnull(strstr(text, cases[i].expected));
		else
			g_assert_cmpstr(text, ==, cases[i].expected);
		g_clear_pointer(&choices, g_ptr_array_unref);
		world_clear(&world);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/choice/table", test_the_nic_that_is_meant_is_chosen),
	{ 0 },
};
