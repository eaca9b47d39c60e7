/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/cdi.h"

#include <jansson.h>

#include "fixture.h"
#include "../support/unit.h"

static void entry_add(GArray *entries, const RdmadDevice *dev, RdmadChardevKind kind)
{
	const CdiEntry entry = { dev, kind };

	g_array_append_val(entries, entry);
}

static GArray *entries_new(const RdmadDevice *dev, RdmadChardevKind kind)
{
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(CdiEntry));

	entry_add(entries, dev, kind);
	return entries;
}

static void test_a_device_has_its_node_and_all_have_rdma_cm(void)
{
	g_autoptr(RdmadDeviceRef) dev = fixture_device("0000:3b:00.0", "mlx5_0", 0);
	g_autoptr(GArray) entries = entries_new(dev, RDMAD_CHARDEV_UVERBS);
	g_autofree char *text = cdi_spec_text(entries);
	json_t *spec = json_loads(text, 0, NULL);
	json_t *wanted =
		json_pack("{s:s, s:s, s:[{s:s, s:{s:[{s:s, s:s}]}}], s:{s:[{s:s, s:s}]}}",
			  "cdiVersion", "0.5.0", "kind", "rdmad.dev/rdma", "devices", "name",
			  "0000:3b:00.0", "containerEdits", "deviceNodes", "path",
			  "/dev/infiniband/uverbs-mlx5_0", "permissions", "rw", "containerEdits",
			  "deviceNodes", "path", "/dev/infiniband/rdma_cm", "permissions", "rw");

	g_assert_true(json_equal(spec, wanted));
	json_decref(spec);
	json_decref(wanted);
}

static void test_management_nodes_are_for_any_user(void)
{
	g_autoptr(RdmadDeviceRef) dev = fixture_device("0000:3b:00.0", "mlx5_0", 0);
	g_autoptr(GArray) entries = entries_new(dev, RDMAD_CHARDEV_UMAD);
	g_autofree char *text = NULL;

	dev->chardevs[1].kind = RDMAD_CHARDEV_UMAD;
	text = cdi_spec_text(entries);
	g_assert_nonnull(strstr(text, "\"name\": \"0000:3b:00.0.umad\""));
	g_assert_nonnull(strstr(text, "\"fileMode\": 438"));
}

/* A runtime rejects a whole file with an unknown version. */
static void test_the_version_is_no_higher_than_the_names_need(void)
{
	g_autoptr(RdmadDeviceRef) dev = fixture_device("rxe0", "rxe0", 0);
	g_autoptr(GArray) entries = entries_new(dev, RDMAD_CHARDEV_UVERBS);
	g_autofree char *text = cdi_spec_text(entries);

	g_assert_nonnull(strstr(text, "\"0.3.0\""));
}

static void test_no_device_is_no_specification(void)
{
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(CdiEntry));

	g_assert_null(cdi_spec_text(entries));
}

static void test_names_are_read_back(void)
{
	g_autoptr(RdmadDeviceRef) dev = fixture_device("0000:3b:00.0", "mlx5_0", 0);
	g_autoptr(GArray) entries = entries_new(dev, RDMAD_CHARDEV_UVERBS);
	g_autoptr(GHashTable) names = NULL;
	g_autofree char *text = NULL;

	entry_add(entries, dev, RDMAD_CHARDEV_ISSM);
	text = cdi_spec_text(entries);
	names = cdi_spec_names(text, strlen(text), NULL);
	g_assert_cmpuint(g_hash_table_size(names), ==, 2);
	g_assert_true(g_hash_table_contains(names, "0000:3b:00.0"));
	g_assert_true(g_hash_table_contains(names, "0000:3b:00.0.issm"));
}

typedef struct {
	const char *name, *text;
	RdmadError code;
} BadCase;

static const BadCase BAD[] = {
	{ "an empty file", "", RDMAD_ERROR_INVALID },
	{ "half a file", "{\"kind\": \"rdmad.dev/rd", RDMAD_ERROR_INVALID },
	{ "a list", "[]", RDMAD_ERROR_INVALID },
	{ "no kind", "{}", RDMAD_ERROR_INVALID },
	{ "a kind that is a number", "{\"kind\": 7}", RDMAD_ERROR_INVALID },
	{ "another's kind", "{\"kind\": \"nvidia.com/gpu\"}", RDMAD_ERROR_BUSY },
};

static void test_what_is_no_specification_of_ours_is_refused(gconstpointer data)
{
	const BadCase *bad = data;
	g_autoptr(GError) error = NULL;

	g_assert_null(cdi_spec_names(bad->text, strlen(bad->text), &error));
	g_assert_error(error, RDMAD_ERROR, (int)bad->code);
}

static void test_devices_of_a_strange_shape_have_no_name(void)
{
	const char *text = "{\"kind\": \"rdmad.dev/rdma\", \"devices\": [7, {}, {\"name\": []}]}";
	g_autoptr(GHashTable) names = cdi_spec_names(text, strlen(text), NULL);

	g_assert_cmpuint(g_hash_table_size(names), ==, 0);
}

#define TEST(name) UNIT_TEST("/cdi-spec/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_device_has_its_node_and_all_have_rdma_cm),
	TEST(management_nodes_are_for_any_user),
	TEST(the_version_is_no_higher_than_the_names_need),
	TEST(no_device_is_no_specification),
	TEST(names_are_read_back),
	UNIT_CASES("/cdi-spec/refused/", BAD, test_what_is_no_specification_of_ours_is_refused),
	TEST(devices_of_a_strange_shape_have_no_name),
	{ 0 },
};
