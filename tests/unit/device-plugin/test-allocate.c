/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/allocate.h"

#include <glib/gstdio.h>

#include "base/loop.h"
#include "deviceplugin.pb-c.h"
#include "fixture.h"
#include "service/allocations-private.h"
#include "service/event-log-private.h"
#include "../service/pod-list-text.h"
#include "../support/unit.h"

#define OWNER "device-plugin"

static const DeliveryDirectories NOWHERE;

/* Devices a, b, c with one slot each, and allocations in memory. */
typedef struct {
	GPtrArray *devices;
	Pool *pool;
	RdmadLoop *loop;
	RdmadEventLog *event_log;
	RdmadState *state;
	RdmadAllocations *allocations;
	char *run_dir;
	Delivery *delivery;
} Fixture;

static void pool_setup(Fixture *f, const char *text)
{
	g_autoptr(ResourceSettings) settings = fixture_resource(text);
	PoolMember members[3];
	const PoolView attributes = { .members = members, .n_members = 3 };

	f->devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);
	for (guint i = 0; i < 3; i++) {
		const char id[] = { (char)('a' + i), '\0' };
		RdmadDevice *dev = fixture_device(id, id, 0);

		dev->chardevs[1].kind = RDMAD_CHARDEV_UMAD;
		g_ptr_array_add(f->devices, dev);
		members[i] = (PoolMember){ dev, FALSE };
	}
	((RdmadDevice *)f->devices->pdata[2])->ports[0].state = RDMAD_PORT_DOWN;
	f->pool = pool_new(settings);
	pool_update(f->pool, &attributes);
}

static void setup(Fixture *f, gconstpointer text)
{
	pool_setup(f, text);
	f->loop = rdmad_loop_new();
	f->event_log = rdmad_event_log_new(f->loop);
	f->state = rdmad_state_open(NULL, NULL, NULL);
	f->allocations = rdmad_allocations_new(f->loop, f->state, f->event_log, NULL);
	f->run_dir = g_dir_make_tmp("rdmad-allocate-XXXXXX", NULL);
	f->delivery = delivery_new(f->run_dir, OWNER, f->allocations, &NOWHERE);
}

static void allocation_end(const RdmadAllocation *allocation, gpointer data)
{
	delivery_end(data, allocation);
}

static void run_dir_remove(Fixture *f)
{
	g_autofree char *allocations = g_build_filename(f->run_dir, "allocations", NULL);

	rdmad_allocations_foreach(f->allocations, allocation_end, f->delivery);
	g_rmdir(allocations);
	g_assert_cmpint(g_rmdir(f->run_dir), ==, 0);
	g_free(f->run_dir);
}

static void teardown(Fixture *f, gconstpointer text)
{
	run_dir_remove(f);
	delivery_free(f->delivery);
	rdmad_allocations_free(f->allocations);
	rdmad_state_close(f->state);
	rdmad_event_log_free(f->event_log);
	rdmad_loop_free(f->loop);
	pool_free(f->pool);
	g_ptr_array_unref(f->devices);
}

/* "a,b c": two containers. */
static GBytes *allocate_slots(Fixture *f, const char *text, GError **error)
{
	g_auto(GStrv) containers = g_strsplit(text, " ", -1);
	const guint n = g_strv_length(containers);
	g_autoptr(GPtrArray) ids = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	V1beta1__ContainerAllocateRequest requests[4], *pointers[4];
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	guint8 bytes[256];
	const Allocator by = { f->allocations, f->delivery, OWNER };
	AllocateCall call, *calls[] = { &call };
	GBytes *answer;

	for (guint i = 0; i < n; i++) {
		g_ptr_array_add(ids, g_strsplit(containers[i], ",", -1));
		v1beta1__container_allocate_request__init(&requests[i]);
		requests[i].devices_ids = ids->pdata[i];
		requests[i].n_devices_ids = g_strv_length(ids->pdata[i]);
		pointers[i] = &requests[i];
	}
	request.n_container_requests = n;
	request.container_requests = pointers;
	g_assert_cmpuint(v1beta1__allocate_request__get_packed_size(&request), <=, sizeof(bytes));
	allocate_call_init(&call, f->pool, bytes, v1beta1__allocate_request__pack(&request, bytes));
	allocate_check(&by, &call);
	allocate(&by, calls, G_N_ELEMENTS(calls));
	answer = g_steal_pointer(&call.answer);
	if (!answer)
		g_propagate_error(error, g_steal_pointer(&call.refusal));
	allocate_call_clear(&call);
	return answer;
}

static void test_a_request_that_is_cut_off_is_refused(Fixture *f, gconstpointer data)
{
	static const guint8 bytes[] = { 0x0a, 0xff, 0x01 };
	const Allocator by = { f->allocations, f->delivery, OWNER };
	AllocateCall call, *calls[] = { &call };

	allocate_call_init(&call, f->pool, bytes, sizeof(bytes));
	allocate_check(&by, &call);
	g_assert_false(allocate_in_doubt(&by, &call));
	allocate(&by, calls, G_N_ELEMENTS(calls));
	g_assert_null(call.answer);
	g_assert_error(call.refusal, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	allocate_call_clear(&call);
}

static char *paths_of(GBytes *answer)
{
	gsize size;
	const guint8 *bytes = g_bytes_get_data(answer, &size);
	V1beta1__AllocateResponse *response = v1beta1__allocate_response__unpack(NULL, size, bytes);
	GString *text = g_string_new(NULL);

	for (size_t i = 0; i < response->n_container_responses; i++)
		for (size_t j = 0; j < response->container_responses[i]->n_devices; j++)
			g_string_append_printf(
				text, "%s ",
				response->container_responses[i]->devices[j]->host_path);
	v1beta1__allocate_response__free_unpacked(response, NULL);
	return g_string_free(text, FALSE);
}

static void append_files(const RdmadAllocation *allocation, gpointer text)
{
	for (guint i = 0; i < allocation->n_files; i++)
		g_string_append_printf(text, "%s:%s ", allocation->files[i].device,
				       allocation->files[i].path);
}

/* Returns the recorded files of all allocations. */
static char *record_of(Fixture *f)
{
	GString *text = g_string_new(NULL);

	rdmad_allocations_foreach(f->allocations, append_files, text);
	return g_string_free(text, FALSE);
}

#define PLAIN	 "name = \"a/b\"; mode = \"exclusive\";"
#define WITH_MAD "name = \"a/b\"; mode = \"exclusive\"; umad = true;"

static void test_management_nodes_are_left_out(Fixture *f, gconstpointer data)
{
	g_autoptr(GBytes) answer = allocate_slots(f, "b,a", NULL);
	g_autofree char *paths = paths_of(answer), *record = record_of(f);

	g_assert_cmpstr(paths, ==, "/dev/infiniband/uverbs-a /dev/infiniband/uverbs-b ");
	g_assert_cmpstr(record, ==, "b:/dev/infiniband/uverbs-b a:/dev/infiniband/uverbs-a ");
}

static void test_management_nodes_are_there_when_asked_for(Fixture *f, gconstpointer data)
{
	g_autoptr(GBytes) answer = allocate_slots(f, "a", NULL);
	g_autofree char *paths = paths_of(answer), *record = record_of(f);

	g_assert_cmpstr(paths, ==, "/dev/infiniband/rdma_cm /dev/infiniband/uverbs-a ");
	g_assert_cmpstr(record, ==, "a:/dev/infiniband/uverbs-a a:/dev/infiniband/rdma_cm ");
}

static void test_an_unhealthy_device_is_refused_with_the_reason(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(allocate_slots(f, "a c", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE);
	g_assert_cmpstr(error->message, ==,
			"a/b: device \"c\" is unhealthy: no port of it is active");
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 0);
}

static void test_a_allocation_that_cannot_be_written_is_no_answer(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	/* The database rejects a nested transaction. */
	g_assert_true(rdmad_state_begin(f->state, NULL));
	g_assert_null(allocate_slots(f, "a b", &error));
	g_assert_nonnull(error);
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 0);
	rdmad_state_rollback(f->state);
}

static char *allocations_path(Fixture *f)
{
	return g_build_filename(f->run_dir, "allocations", NULL);
}

static void test_a_refused_request_leaves_no_directory(Fixture *f, gconstpointer data)
{
	g_autofree char *path = allocations_path(f);
	g_autoptr(GError) error = NULL;

	g_assert_null(allocate_slots(f, "a c", &error));
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

static void test_a_directory_that_cannot_be_made_is_no_answer(Fixture *f, gconstpointer data)
{
	g_autofree char *path = allocations_path(f);
	g_autoptr(GError) error = NULL;

	g_assert_true(g_file_set_contents(path, "", 0, NULL));
	g_assert_null(allocate_slots(f, "a", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 0);
	g_assert_cmpint(g_unlink(path), ==, 0);
}

static void test_each_container_gets_a_allocation_of_its_own(Fixture *f, gconstpointer data)
{
	g_autoptr(GBytes) answer = allocate_slots(f, "b,a", NULL);
	g_autoptr(GBytes) again = allocate_slots(f, "a,b", NULL);
	g_autofree char *paths = paths_of(answer), *paths_again = paths_of(again);

	g_assert_cmpstr(paths, ==, paths_again);
	g_assert_false(g_bytes_equal(answer, again));
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 2);
}

static RdmadPodLife always_alive(const char *pod_namespace, const char *pod_name,
				 const char *pod_cgroup, gpointer data)
{
	return RDMAD_POD_LIFE_ALIVE;
}

static void hold_by_train_0(Fixture *f)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack_of("a/b", "train-0=a");
	gsize size;
	const guint8 *message = g_bytes_get_data(bytes, &size);
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(message, size, NULL);

	g_bytes_unref(allocate_slots(f, "a", NULL));
	list->asked_us = g_get_monotonic_time();
	rdmad_allocations_reconcile(f->allocations, list);
	rdmad_allocations_set_liveness(f->allocations, always_alive, NULL);
}

static void test_a_device_whose_holder_lives_is_refused_by_its_name(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	hold_by_train_0(f);
	g_assert_null(allocate_slots(f, "a", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_nonnull(strstr(error->message, "\"a\" is held by pod ns/train-0, container main, "
						"since 20"));
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 1);
}

#define TEST(text, name)                                                                           \
	UNIT_FIXTURE_TEST("/allocate/" #name, Fixture, text, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(PLAIN, management_nodes_are_left_out),
	TEST(WITH_MAD, management_nodes_are_there_when_asked_for),
	TEST(PLAIN, an_unhealthy_device_is_refused_with_the_reason),
	TEST(PLAIN, a_allocation_that_cannot_be_written_is_no_answer),
	TEST(PLAIN, a_request_that_is_cut_off_is_refused),
	TEST(PLAIN, a_refused_request_leaves_no_directory),
	TEST(PLAIN, a_directory_that_cannot_be_made_is_no_answer),
	TEST(PLAIN, each_container_gets_a_allocation_of_its_own),
	TEST(PLAIN, a_device_whose_holder_lives_is_refused_by_its_name),
	{ 0 },
};
