/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <rdmad/error.h>
#include <rdmad/grpc.h>
#include <string.h>

#include "allocations-fixture.h"
#include "pod-list-text.h"
#include "hardware/sysroot.h"
#include "service/pods-private.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	AllocationsFixture base; /* first: its functions take the fixture */
	RdmadSysroot *sysroot;
	char *socket_dir, *socket;
	RdmadGrpcServer *server;
	RdmadPods *pods;
	RdmadEvent *too_long;
	char *text;	      /* kubelet's list */
	RdmadGrpcStatus fail; /* returned instead, `failures` times */
	guint failures;
	guint lists, answers, good;
	int code; /* of the last error, or -1 */
} Fixture;

static void list_asked(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;
	g_autoptr(GBytes) bytes = pod_list_text_pack(f->text);

	f->lists++;
	g_assert_cmpuint(size, ==, 0);
	if (f->failures) {
		f->failures--;
		rdmad_grpc_call_fail(call, f->fail, "rejected by rate limit");
		return;
	}
	rdmad_grpc_call_reply(call, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

static void garbage_asked(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_reply(call, (const guint8 *)"\xff\xff", 2);
}

static void nothing_asked(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	rdmad_grpc_call_finish(call);
}

static const RdmadGrpcMethod kubelet[] = { { "/v1.PodResourcesLister/List", list_asked }, { 0 } };
static const RdmadGrpcMethod silence[] = { { "/v1.PodResourcesLister/List", nothing_asked },
					   { 0 } };
static const RdmadGrpcMethod garbage[] = { { "/v1.PodResourcesLister/List", garbage_asked },
					   { 0 } };

static void kubelet_start(Fixture *f, const RdmadGrpcMethod *methods)
{
	g_autoptr(GError) error = NULL;

	f->server = rdmad_grpc_server_new(f->base.loop, NULL, f->socket, methods, f, NULL, &error);
	g_assert_no_error(error);
}

static void took_too_long(gpointer data)
{
	g_error("nothing happens");
}

static void setup(Fixture *f, gconstpointer data)
{
	allocations_fixture_setup(&f->base, NULL);
	f->socket_dir = g_build_filename(f->base.dir, "pod-resources", NULL);
	f->socket = g_build_filename(f->socket_dir, "kubelet.sock", NULL);
	f->text = g_strdup("");
	g_mkdir(f->socket_dir, 0700);
	f->too_long = rdmad_loop_add_timer(f->base.loop, NULL, took_too_long, f);
	rdmad_event_arm(f->too_long, 30000);
	f->sysroot = rdmad_sysroot_new(f->base.dir, NULL);
	f->pods = rdmad_pods_new(f->base.loop, f->sysroot, f->base.allocations, f->base.dir);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_pods_free(f->pods);
	rdmad_sysroot_free(f->sysroot);
	rdmad_grpc_server_free(f->server);
	rdmad_event_free(f->too_long);
	g_unlink(f->socket);
	g_rmdir(f->socket_dir);
	g_free(f->socket);
	g_free(f->socket_dir);
	g_free(f->text);
	allocations_fixture_teardown(&f->base, NULL);
}

static void set_text(Fixture *f, const char *text)
{
	g_free(f->text);
	f->text = g_strdup(text);
}

static void answered(const GError *error, gpointer data)
{
	Fixture *f = data;

	f->answers++;
	f->good += !error;
	f->code = error ? error->code : -1;
	rdmad_loop_stop(f->base.loop);
}

static void refresh(Fixture *f)
{
	const guint before = f->answers;

	rdmad_pods_refresh(f->pods, NULL, answered, f);
	g_assert_cmpuint(f->answers, ==, before);
	while (f->answers == before)
		rdmad_loop_run(f->base.loop);
}

static void stop(gpointer data)
{
	rdmad_loop_stop(((Fixture *)data)->base.loop);
}

static void run_for(Fixture *f, guint ms)
{
	g_autoptr(RdmadEvent) end = rdmad_loop_add_timer(f->base.loop, NULL, stop, f);

	rdmad_event_arm(end, ms);
	rdmad_loop_run(f->base.loop);
}

static void run_until_lists(Fixture *f, guint lists)
{
	while (f->lists < lists)
		rdmad_loop_turn(f->base.loop);
	g_assert_cmpuint(f->lists, ==, lists);
}

static void test_a_refresh_updates_the_holders(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	set_text(f, "train-0=a,b train-1=c");
	refresh(f);
	g_assert_cmpuint(f->good, ==, 1);
	g_assert_cmpuint(rdmad_pods_count(f->pods), ==, 2);
	g_assert_cmpstr(rdmad_pods_nth(f->pods, 1)->pod_name, ==, "train-1");
	g_assert_cmpstr(rdmad_pods_holder(f->pods, "rdma/hca", "b")->pod_name, ==, "train-0");
	g_assert_null(rdmad_pods_holder(f->pods, "rdma/hca", "d"));
}

static void test_a_refresh_names_the_allocations(Fixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(&f->base, "a");

	kubelet_start(f, kubelet);
	set_text(f, "train-0=a");
	refresh(f);
	g_assert_cmpstr(rdmad_allocations_lookup(f->base.allocations, id)->pod_name, ==, "train-0");
}

static void test_refreshes_that_overlap_share_one_list(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	for (guint i = 0; i < 100; i++)
		rdmad_pods_refresh(f->pods, NULL, answered, f);
	refresh(f);
	g_assert_cmpuint(f->lists, ==, 1);
	g_assert_cmpuint(f->good, ==, 101);
}

static void refresh_again(const GError *error, gpointer data)
{
	Fixture *f = data;

	set_text(f, "later=a");
	rdmad_pods_refresh(f->pods, NULL, answered, f);
}

static void test_a_callback_may_refresh(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	rdmad_pods_refresh(f->pods, NULL, refresh_again, f);
	while (!f->answers)
		rdmad_loop_run(f->base.loop);
	g_assert_cmpuint(f->lists, ==, 2);
	g_assert_cmpstr(rdmad_pods_nth(f->pods, 0)->pod_name, ==, "later");
}

static void test_no_kubelet_is_unavailable(Fixture *f, gconstpointer data)
{
	refresh(f);
	g_assert_cmpint(f->code, ==, RDMAD_ERROR_UNAVAILABLE);
	refresh(f);
	g_assert_cmpint(f->code, ==, RDMAD_ERROR_UNAVAILABLE);
	kubelet_start(f, kubelet);
	refresh(f);
	g_assert_cmpint(f->code, ==, -1);
}

static void test_a_bad_answer_keeps_the_last_good_one(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	set_text(f, "train-0=a");
	refresh(f);
	rdmad_grpc_server_free(f->server);
	kubelet_start(f, garbage);
	refresh(f);
	g_assert_cmpint(f->code, ==, RDMAD_ERROR_INVALID);
	rdmad_grpc_server_free(f->server);
	kubelet_start(f, silence);
	refresh(f);
	g_assert_cmpint(f->code, ==, RDMAD_ERROR_INVALID);
	g_assert_cmpuint(rdmad_pods_count(f->pods), ==, 1);
}

static void test_a_rate_limit_is_waited_out(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	f->fail = RDMAD_GRPC_RESOURCE_EXHAUSTED;
	f->failures = 2;
	refresh(f);
	g_assert_cmpuint(f->good, ==, 1);
	g_assert_cmpuint(f->lists, ==, 3);
}

static void test_other_failures_are_reported(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	f->fail = RDMAD_GRPC_INTERNAL;
	f->failures = 1;
	refresh(f);
	g_assert_cmpint(f->code, ==, RDMAD_ERROR_UNAVAILABLE);
	g_assert_cmpuint(f->lists, ==, 1);
}

static void test_a_hint_asks_until_all_allocations_are_named(Fixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(&f->base, "a");

	kubelet_start(f, kubelet);
	for (guint i = 0; i < 10; i++)
		rdmad_pods_hint(f->pods);
	run_until_lists(f, 1);
	set_text(f, "train-0=a");
	run_until_lists(f, 2);
	run_for(f, 5000);
	g_assert_cmpuint(f->lists, ==, 2);
	g_assert_cmpstr(rdmad_allocations_lookup(f->base.allocations, id)->pod_name, ==, "train-0");
}

static void test_without_allocations_it_asks_once_and_rests(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	run_for(f, 300);
	g_assert_cmpuint(f->lists, ==, 0);
	rdmad_pods_hint(f->pods);
	run_for(f, 2000);
	g_assert_cmpuint(f->lists, ==, 1);
}

static void test_loaded_allocations_are_asked_for(Fixture *f, gconstpointer data)
{
	g_free(allocations_fixture_must_grant(&f->base, "a"));
	rdmad_pods_free(f->pods);
	f->pods = rdmad_pods_new(f->base.loop, f->sysroot, f->base.allocations, f->base.dir);
	kubelet_start(f, kubelet);
	run_until_lists(f, 1);
}

static void test_an_owner_that_has_ended_is_not_called(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	rdmad_pods_refresh(f->pods, SOME_MODULE, answered, f);
	rdmad_pods_refresh(f->pods, SOME_MODULE, NULL, NULL);
	/* A refresh without a callback is not counted. */
	g_assert_cmpuint(rdmad_pods_reap(f->pods, SOME_MODULE), ==, 1);
	g_assert_cmpuint(rdmad_pods_reap(f->pods, SOME_MODULE), ==, 0);
	refresh(f);
	g_assert_cmpuint(f->answers, ==, 1);
}

static void test_a_refresh_that_is_cancelled_is_not_answered(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	rdmad_pods_refresh(f->pods, SOME_MODULE, answered, f);
	rdmad_loop_turn(f->base.loop); /* one List is running, one is waiting */
	rdmad_pods_refresh(f->pods, SOME_MODULE, answered, f);
	rdmad_pods_cancel(f->pods, answered, f);
	g_assert_cmpuint(rdmad_pods_reap(f->pods, SOME_MODULE), ==, 0);
	refresh(f);
	g_assert_cmpuint(f->answers, ==, 1);
}

static void reap_the_other(const GError *error, gpointer data)
{
	rdmad_pods_reap(((Fixture *)data)->pods, SOME_MODULE);
}

static void test_an_owner_may_end_while_others_are_notified(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	rdmad_pods_refresh(f->pods, NULL, reap_the_other, f);
	rdmad_pods_refresh(f->pods, SOME_MODULE, answered, f);
	refresh(f);
	g_assert_cmpuint(f->answers, ==, 1);
}

static void test_waiters_are_notified_at_the_end(Fixture *f, gconstpointer data)
{
	kubelet_start(f, kubelet);
	rdmad_pods_refresh(f->pods, NULL, answered, f);
	rdmad_loop_turn(f->base.loop);
	g_clear_pointer(&f->pods, rdmad_pods_free);
	g_assert_cmpuint(f->answers, ==, 1);
	g_assert_cmpint(f->code, ==, RDMAD_ERROR_CANCELLED);
	run_for(f, 50);
	g_assert_cmpuint(f->answers, ==, 1);
}

#define TEST(name) UNIT_FIXTURE_TEST("/pods/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_refresh_updates_the_holders),
	TEST(a_refresh_names_the_allocations),
	TEST(refreshes_that_overlap_share_one_list),
	TEST(a_callback_may_refresh),
	TEST(no_kubelet_is_unavailable),
	TEST(a_bad_answer_keeps_the_last_good_one),
	TEST(a_rate_limit_is_waited_out),
	TEST(other_failures_are_reported),
	TEST(a_hint_asks_until_all_allocations_are_named),
	TEST(without_allocations_it_asks_once_and_rests),
	TEST(loaded_allocations_are_asked_for),
	TEST(an_owner_that_has_ended_is_not_called),
	TEST(a_refresh_that_is_cancelled_is_not_answered),
	TEST(an_owner_may_end_while_others_are_notified),
	TEST(waiters_are_notified_at_the_end),
	{ 0 },
};
