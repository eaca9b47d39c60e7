/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/answer.h"

#include <jansson.h>

#include "fixture.h"
#include "../support/unit.h"

#define RUN_DIR "/run/rdmad"

typedef struct {
	RdmadDevice *devices[2];
	Pool *pool;
	ContainerAnswer *answer;
} Fixture;

static void update(Fixture *f)
{
	const PoolMember members[] = { { f->devices[0], FALSE }, { f->devices[1], FALSE } };
	const PoolView view = { .members = members, .n_members = G_N_ELEMENTS(members) };

	pool_update(f->pool, &view);
}

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(ResourceSettings) settings = fixture_resource(data);

	f->devices[0] = fixture_device("0000:3b:00.0", "mlx5_0", 0);
	f->devices[1] = fixture_device("0000:5e:00.0-mlx5_core.sf.4", "mlx5_1", 0);
	f->devices[1]->aux_name = g_strdup("mlx5_core.sf.4");
	f->pool = pool_new(settings);
	update(f);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_clear_pointer(&f->answer, container_answer_free);
	pool_free(f->pool);
	rdmad_device_unref(f->devices[0]);
	rdmad_device_unref(f->devices[1]);
}

/* `slots` is separated by commas. */
static V1beta1__ContainerAllocateResponse *answer(Fixture *f, const char *slots)
{
	g_auto(GStrv) split = g_strsplit(slots, ",", -1);
	const RdmadAllocation allocation = { .id = (char *)"0123456789abcdef", .slots = split };

	g_clear_pointer(&f->answer, container_answer_free);
	f->answer = container_answer_new(f->pool, &allocation, RUN_DIR, NULL);
	return container_answer_message(f->answer);
}

static const char *env(const V1beta1__ContainerAllocateResponse *message, const char *name)
{
	for (size_t i = 0; i < message->n_envs; i++)
		if (g_str_equal(message->envs[i]->key, name))
			return message->envs[i]->value;
	return NULL;
}

#define EXCLUSIVE "name = \"example.com/rail-0\"; mode = \"exclusive\";"
#define HCA_SET	  EXCLUSIVE " nccl_hca = true;"
#define PNET_SET  EXCLUSIVE " smcr_pnet = true;"
#define SHARED	  "name = \"rdma/hca\"; count = 4; umad = true;"

static void test_the_allocations_directory_is_mounted_read_only(Fixture *f, gconstpointer data)
{
	const V1beta1__ContainerAllocateResponse *message = answer(f, "0000:3b:00.0");

	g_assert_cmpuint(message->n_mounts, ==, 1);
	g_assert_cmpstr(message->mounts[0]->container_path, ==, "/run/rdmad");
	g_assert_cmpstr(message->mounts[0]->host_path, ==, RUN_DIR "/allocations/0123456789abcdef");
	g_assert_true(message->mounts[0]->read_only);
	g_assert_cmpstr(env(message, "RDMAD_ALLOCATION"), ==, "0123456789abcdef");
	g_assert_cmpstr(env(message, "NCCL_CONF_FILE"), ==, "/run/rdmad/nccl.conf");
}

static void test_nccl_gets_the_devices_when_configured(Fixture *f, gconstpointer data)
{
	const V1beta1__ContainerAllocateResponse *message =
		answer(f, "0000:3b:00.0,0000:5e:00.0-mlx5_core.sf.4");
	g_autofree char *names =
		g_strdup_printf("=%s,%s", f->devices[0]->name, f->devices[1]->name);

	g_assert_cmpstr(env(message, "NCCL_IB_HCA"), ==, strstr(data, "nccl_hca") ? names : NULL);
	g_assert_null(env(message, "NCCL_IB_GID_INDEX"));
}

static void test_smc_gets_the_mac_address_of_the_first_device(Fixture *f, gconstpointer data)
{
	const char *const slots = "0000:3b:00.0,0000:5e:00.0-mlx5_core.sf.4";

	f->devices[0]->node_guid = g_strdup("0216:3eff:fe01:020a");
	f->devices[1]->node_guid = g_strdup("0216:3eff:fe01:020b");
	g_assert_cmpstr(env(answer(f, slots), "SMCR_PNET"), ==, "00163E01020A");
	g_assert_cmpstr(env(answer(f, "0000:5e:00.0-mlx5_core.sf.4"), "SMCR_PNET"), ==,
			"00163E01020B");
	f->devices[0]->node_guid[8] = '0';
	update(f);
	g_assert_null(env(answer(f, slots), "SMCR_PNET"));
}

static void test_variables_have_names_that_a_shell_can_read(Fixture *f, gconstpointer data)
{
	const V1beta1__ContainerAllocateResponse *message = answer(f, "0000:3b:00.0");

	g_assert_cmpuint(message->n_envs, ==, 4);
	g_assert_cmpstr(env(message, "PCIDEVICE_EXAMPLE_COM_RAIL_0"), ==, "0000:3b:00.0");
	g_assert_nonnull(env(message, "PCIDEVICE_EXAMPLE_COM_RAIL_0_INFO"));
}

static void test_a_device_is_listed_once_whatever_slots_it_has(Fixture *f, gconstpointer data)
{
	const V1beta1__ContainerAllocateResponse *message =
		answer(f, "0000:3b:00.0::0,0000:3b:00.0::1,0000:5e:00.0-mlx5_core.sf.4::0");

	g_assert_cmpstr(env(message, "PCIDEVICE_RDMA_HCA"), ==, "0000:3b:00.0,mlx5_core.sf.4");
	g_assert_cmpuint(message->n_devices, ==, 3);
	g_assert_cmpstr(message->devices[1]->host_path, ==, "/dev/infiniband/uverbs-mlx5_0");
}

static void test_the_information_is_what_the_sriov_plugin_gives(Fixture *f, gconstpointer data)
{
	const V1beta1__ContainerAllocateResponse *message = answer(f, "0000:3b:00.0");

	g_assert_cmpstr(env(message, "PCIDEVICE_EXAMPLE_COM_RAIL_0_INFO"), ==,
			"{\"0000:3b:00.0\":{\"generic\":{\"deviceID\":\"0000:3b:00.0\"},"
			"\"rdma\":{\"rdma_cm\":\"/dev/infiniband/rdma_cm\",\"rdma_dev\":\"mlx5_0\","
			"\"uverbs\":\"/dev/infiniband/uverbs-mlx5_0\"}}}");
}

static void test_the_information_names_only_nodes_that_are_given(Fixture *f, gconstpointer data)
{
	const char *info;

	f->devices[0]->chardevs[1].kind = RDMAD_CHARDEV_UMAD;
	f->devices[0]->n_chardevs = 2;
	info = env(answer(f, "0000:3b:00.0"), "PCIDEVICE_EXAMPLE_COM_RAIL_0_INFO");
	g_assert_nonnull(info);
	g_assert_null(strstr(info, "umad"));
}

static void test_the_answer_follows_the_device_and_the_settings(Fixture *f, gconstpointer data)
{
	const char *const slot = "0000:3b:00.0";
	g_autoptr(ResourceSettings) settings =
		fixture_resource(EXCLUSIVE " permissions = \"rwm\";");

	g_assert_cmpstr(answer(f, slot)->devices[1]->host_path, ==,
			"/dev/infiniband/uverbs-mlx5_0");
	rdmad_device_unref(f->devices[0]);
	f->devices[0] = fixture_device(slot, "mlx5_7", 0);
	update(f);
	g_assert_cmpstr(answer(f, slot)->devices[1]->host_path, ==,
			"/dev/infiniband/uverbs-mlx5_7");
	g_assert_cmpstr(answer(f, slot)->devices[1]->permissions, ==, "rw");
	pool_configure(f->pool, settings);
	g_assert_cmpstr(answer(f, slot)->devices[1]->permissions, ==, "rwm");
}

/* A device whose driver was just unbound is rejected earlier, and must do no harm here. */
static void test_a_slot_that_is_gone_gives_nothing(Fixture *f, gconstpointer data)
{
	const V1beta1__ContainerAllocateResponse *message = answer(f, "0000:ff:00.0");

	g_assert_cmpuint(message->n_devices, ==, 0);
	g_assert_cmpstr(env(message, "PCIDEVICE_EXAMPLE_COM_RAIL_0"), ==, "");
	g_assert_cmpstr(env(message, "PCIDEVICE_EXAMPLE_COM_RAIL_0_INFO"), ==, "{}");
}

#define TEST(text, name)                                                                           \
	UNIT_FIXTURE_TEST("/container-answer/" #name, Fixture, text, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(EXCLUSIVE, the_allocations_directory_is_mounted_read_only),
	TEST(EXCLUSIVE, variables_have_names_that_a_shell_can_read),
	TEST(EXCLUSIVE, nccl_gets_the_devices_when_configured),
	UNIT_FIXTURE_TEST("/container-answer/nccl_hca", Fixture, HCA_SET, setup,
			  test_nccl_gets_the_devices_when_configured, teardown),
	TEST(PNET_SET, smc_gets_the_mac_address_of_the_first_device),
	TEST(SHARED, a_device_is_listed_once_whatever_slots_it_has),
	TEST(EXCLUSIVE, the_information_is_what_the_sriov_plugin_gives),
	TEST(EXCLUSIVE, the_information_names_only_nodes_that_are_given),
	TEST(EXCLUSIVE, the_answer_follows_the_device_and_the_settings),
	TEST(EXCLUSIVE, a_slot_that_is_gone_gives_nothing),
	{ 0 },
};
