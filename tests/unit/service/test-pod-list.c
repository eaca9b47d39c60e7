/* SPDX-License-Identifier: Apache-2.0 */
#include <podresources.pb-c.h>
#include <rdmad/error.h>
#include <string.h>

#include "pod-list-text.h"
#include "service/pod-list.h"
#include "../support/unit.h"

static RdmadPodList *parse_bytes(GBytes *bytes, GError **error)
{
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);

	return rdmad_pod_list_parse(data, size, error);
}

static void test_a_list_has_the_holders(void)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack("train-0=b,a,b train-1=c");
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadPodList) list = parse_bytes(bytes, &error);
	const RdmadPodDevices *first;

	g_assert_no_error(error);
	g_assert_cmpuint(list->entries->len, ==, 2);
	first = g_ptr_array_index(list->entries, 0);
	g_assert_cmpstr(first->pod_namespace, ==, "ns");
	g_assert_cmpstr(first->pod_name, ==, "train-0");
	g_assert_cmpstr(first->container, ==, "main");
	g_assert_cmpstr(first->resource, ==, "rdma/hca");
	g_assert_cmpstr(first->ids[0], ==, "a");
	g_assert_cmpstr(first->ids[1], ==, "b");
	g_assert_null(first->ids[2]);
	g_assert_true(rdmad_pod_list_holder(list, "rdma/hca", "b") == first);
	g_assert_null(rdmad_pod_list_holder(list, "rdma/hca", "d"));
	g_assert_null(rdmad_pod_list_holder(list, "rdma", "a"));
}

static void test_nothing_is_an_empty_list(void)
{
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(NULL, 0, NULL);

	g_assert_cmpuint(list->entries->len, ==, 0);
}

static void test_the_first_listed_holds_a_slot(void)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack("first=a second=a,b");
	g_autoptr(RdmadPodList) list = parse_bytes(bytes, NULL);

	g_assert_cmpstr(rdmad_pod_list_holder(list, "rdma/hca", "a")->pod_name, ==, "first");
	g_assert_cmpstr(rdmad_pod_list_holder(list, "rdma/hca", "b")->pod_name, ==, "second");
}

/* One container with several resources, fields of later versions, and resources of other
 * plugins. */
static void test_a_whole_message_is_understood(void)
{
	char *gpu[] = { (char *)"GPU-1" }, *hca[] = { (char *)"a", (char *)"b" };
	char *odd[] = { (char *)"\xff", (char *)"", (char *)"fine" };
	V1__NUMANode node = V1__NUMANODE__INIT, *nodes[] = { &node };
	V1__TopologyInfo topology = V1__TOPOLOGY_INFO__INIT;
	V1__ContainerDevices one = V1__CONTAINER_DEVICES__INIT;
	V1__ContainerDevices two = V1__CONTAINER_DEVICES__INIT;
	V1__ContainerDevices three = V1__CONTAINER_DEVICES__INIT;
	V1__ContainerDevices *devices[] = { &one, &two, &three };
	V1__ContainerResources container = V1__CONTAINER_RESOURCES__INIT,
			       *containers[] = { &container };
	V1__PodResources pod = V1__POD_RESOURCES__INIT, bare = V1__POD_RESOURCES__INIT;
	V1__PodResources *pods[] = { &bare, &pod };
	V1__ListPodResourcesResponse response = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	int64_t cpus[] = { 1, 2, 3 };
	guint8 packed[512];
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadPodList) list = NULL;

	topology.nodes = nodes;
	topology.n_nodes = 1;
	one = (V1__ContainerDevices){ one.base, (char *)"nvidia.com/gpu", 1, gpu, &topology };
	two = (V1__ContainerDevices){ two.base, (char *)"rdma/hca", 2, hca, NULL };
	three = (V1__ContainerDevices){ three.base, (char *)"odd/odd", 3, odd, NULL };
	container.name = (char *)"c";
	container.devices = devices;
	container.n_devices = 3;
	container.cpu_ids = cpus;
	container.n_cpu_ids = 3;
	pod.name = (char *)"p";
	pod.namespace_ = (char *)"n";
	pod.containers = containers;
	pod.n_containers = 1;
	response.pod_resources = pods;
	response.n_pod_resources = 2;
	g_assert_cmpuint(v1__list_pod_resources_response__get_packed_size(&response), <,
			 sizeof(packed) - 3);
	gsize size = v1__list_pod_resources_response__pack(&response, packed);

	/* Field 99, varint 1. */
	memcpy(packed + size, "\x98\x06\x01", 3);
	list = rdmad_pod_list_parse(packed, size + 3, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(list->entries->len, ==, 3);
	g_assert_nonnull(rdmad_pod_list_holder(list, "nvidia.com/gpu", "GPU-1"));
	g_assert_nonnull(rdmad_pod_list_holder(list, "rdma/hca", "b"));
	g_assert_nonnull(rdmad_pod_list_holder(list, "odd/odd", "fine"));
	g_assert_null(rdmad_pod_list_holder(list, "odd/odd", "\xff"));
}

static void test_every_cut_of_a_message_is_refused_or_shorter(void)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack("train-0=a,b train-1=c");
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);
	guint refused = 0;

	for (gsize n = 0; n < size; n++) {
		g_autoptr(GError) error = NULL;
		g_autofree guint8 *cut = g_memdup2(data, n);
		g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(cut, n, &error);

		if (list)
			continue;
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		refused++;
	}
	g_assert_cmpuint(refused, >, size / 2);
}

typedef struct {
	const char *name, *pod;
} NameCase;

static const NameCase bad_names[] = {
	{ "none", "" },
	{ "not-utf8", "a\xff" },
	{ "too-long",
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
};

static void test_a_bad_name_spoils_only_its_entry(gconstpointer data)
{
	const NameCase *bad = data;
	g_autofree char *text = g_strdup_printf("first=a %s=b,c last=d", bad->pod);
	g_autoptr(GBytes) bytes = pod_list_text_pack(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadPodList) list = parse_bytes(bytes, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(list->entries->len, ==, 2);
	g_assert_cmpstr(rdmad_pod_list_holder(list, "rdma/hca", "a")->pod_name, ==, "first");
	g_assert_cmpstr(rdmad_pod_list_holder(list, "rdma/hca", "d")->pod_name, ==, "last");
	g_assert_null(rdmad_pod_list_holder(list, "rdma/hca", "b"));
	g_assert_true(rdmad_pod_list_is_unnamed(list, "rdma/hca", "b"));
	g_assert_true(rdmad_pod_list_is_unnamed(list, "rdma/hca", "c"));
	g_assert_false(rdmad_pod_list_is_unnamed(list, "rdma/hca", "a"));
	g_assert_nonnull(strstr(list->invalid, "ns/"));
}

/* Returns `n` empty pods: two bytes each on the wire, a hundred in memory. */
static void test_a_message_that_grows_without_bound_is_refused(void)
{
	const gsize n = 4 << 20;
	g_autofree guint8 *bomb = g_malloc0(2 * n);
	g_autoptr(GError) error = NULL;

	for (gsize i = 0; i < n; i++)
		bomb[2 * i] = 1 << 3 | 2;
	g_assert_null(rdmad_pod_list_parse(bomb, 2 * n, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_too_many_ids_are_refused(void)
{
	g_autoptr(GByteArray) all = g_byte_array_new();
	g_autoptr(GString) ids = g_string_new("x");
	g_autoptr(GBytes) pod = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	for (guint i = 1; i < 500; i++)
		g_string_append(ids, ",x");
	text = g_strconcat("p=", ids->str, NULL);
	pod = pod_list_text_pack(text);
	for (guint i = 0; i * 500 <= RDMAD_POD_LIST_MAX_IDS; i++)
		g_byte_array_append(all, g_bytes_get_data(pod, NULL), (guint)g_bytes_get_size(pod));
	g_assert_null(rdmad_pod_list_parse(all->data, all->len, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
}

#define TEST(name) UNIT_TEST("/pod-list/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_list_has_the_holders),
	TEST(nothing_is_an_empty_list),
	TEST(the_first_listed_holds_a_slot),
	TEST(a_whole_message_is_understood),
	TEST(every_cut_of_a_message_is_refused_or_shorter),
	UNIT_CASES("/pod-list/a_bad_name_spoils_only_its_entry/", bad_names,
		   test_a_bad_name_spoils_only_its_entry),
	TEST(a_message_that_grows_without_bound_is_refused),
	TEST(too_many_ids_are_refused),
	{ 0 },
};
