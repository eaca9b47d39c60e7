/* SPDX-License-Identifier: Apache-2.0 */
/* The holders of a device, over all resources and modes */
#include <rdmad/error.h>
#include <string.h>

#include "allocations-fixture.h"
#include "pod-list-text.h"
#include "../support/unit.h"

#define SECOND	    G_USEC_PER_SEC
#define SOME_MODULE ((RdmadModule *)0x10)

#define UNKNOWN RDMAD_POD_LIFE_UNKNOWN
#define ALIVE	RDMAD_POD_LIFE_ALIVE
#define EMPTY	RDMAD_POD_LIFE_EMPTY
#define GONE	RDMAD_POD_LIFE_GONE

static RdmadPodLife life_of(const char *pod_namespace, const char *pod_name, const char *pod_cgroup,
			    gpointer data)
{
	return *(const RdmadPodLife *)data;
}

static void list_of(AllocationsFixture *f, const char *resource, const char *text,
		    const char *kubelet, gint64 after_us)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack_of(resource, text);
	gsize size;
	const guint8 *message = g_bytes_get_data(bytes, &size);
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(message, size, NULL);

	list->kubelet = g_strdup(kubelet);
	list->asked_us = g_get_monotonic_time() + after_us;
	list->kubelet_since_us = 1;
	rdmad_allocations_reconcile(f->allocations, list);
}

/* A slot of a resource on a device, and another device, which the container can open, or NULL. */
typedef struct {
	const char *resource, *slot, *device, *exposed, *mode;
} Hold;

typedef struct {
	RdmadGrantCall call;
	const char *slots[2], *devices[2], *exposed[2];
} Call;

static void call_init(Call *call, const Hold *hold)
{
	*call = (Call){ .slots = { hold->slot },
			.devices = { hold->device },
			.exposed = { hold->exposed } };
	call->call.grant = (RdmadGrant){ "test",
					 hold->resource,
					 call->slots,
					 call->devices,
					 hold->mode,
					 g_get_monotonic_time(),
					 hold->exposed ? call->exposed : NULL };
}

static const RdmadAllocation *grant(AllocationsFixture *f, const Hold *hold, gboolean *doubt,
				    GError **error)
{
	Call call;

	call_init(&call, hold);
	if (doubt)
		*doubt = rdmad_allocations_in_doubt(f->allocations, &call.call.grant);
	return rdmad_allocations_grant(f->allocations, &call.call.grant, error);
}

static void must_grant(AllocationsFixture *f, const Hold *hold)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadAllocationRef) allocation = grant(f, hold, NULL, &error);

	g_assert_no_error(error);
	g_assert_nonnull(allocation);
}

/* ---- who excludes whom ---- */

#define RAIL                                                                                       \
	{                                                                                          \
		"rdma/rail", "d", "d", NULL, "exclusive"                                           \
	}
#define RAIL_7                                                                                     \
	{                                                                                          \
		"rdma/rail", "d::7", "d", NULL, "shared"                                           \
	}
#define RAIL_8                                                                                     \
	{                                                                                          \
		"rdma/rail", "d::8", "d", NULL, "shared"                                           \
	}
#define POOL_B                                                                                     \
	{                                                                                          \
		"rdma/poolb", "d", "d", NULL, "exclusive"                                          \
	}
#define HCA                                                                                        \
	{                                                                                          \
		"rdma/hca", "d::1", "d", NULL, "shared"                                            \
	}
#define MULTI                                                                                      \
	{                                                                                          \
		"rdma/multi", "d::2", "d", NULL, "shared-multi"                                    \
	}
#define EXPOSES                                                                                    \
	{                                                                                          \
		"rdma/all", "e::1", "e", "d", "shared"                                             \
	}
#define OTHER                                                                                      \
	{                                                                                          \
		"rdma/rail", "e", "e", NULL, "exclusive"                                           \
	}
#define UNTOLD                                                                                     \
	{                                                                                          \
		"rdma/old", "d", "d", NULL, NULL                                                   \
	}

typedef struct {
	const char *name;
	Hold holder, asked;
	const char *refused; /* NULL: granted; else a part of the message */
} Case;

static const Case cases[] = {
	{ "exclusive under another name", RAIL, POOL_B, "as rdma/rail" },
	{ "from exclusive to shared", RAIL, HCA, "\"d\" is held by pod ns/p, container main" },
	{ "from exclusive to shared-multi", RAIL, MULTI, "as rdma/rail" },
	{ "from exclusive to a device that is exposed", RAIL, EXPOSES, "\"d\" is held by" },
	{ "from shared to exclusive", HCA, POOL_B, "as rdma/hca" },
	{ "from shared-multi to exclusive", MULTI, POOL_B, "as rdma/multi" },
	{ "from exposed to exclusive", EXPOSES, POOL_B, "as rdma/all" },
	{ "shared by two resources", HCA, MULTI, NULL },
	{ "exposed and shared", EXPOSES, HCA, NULL },
	{ "exposed by two", EXPOSES, EXPOSES, NULL },
	{ "another slot of the resource, exclusive now", RAIL_7, RAIL, "as rdma/rail" },
	{ "another slot of the resource, shared now", RAIL, RAIL_7, "as rdma/rail" },
	{ "another slot of the resource, shared still", RAIL_7, RAIL_8, NULL },
	{ "another device", RAIL, OTHER, NULL },
	{ "of an unknown mode, to exclusive", UNTOLD, POOL_B, "as rdma/old" },
	{ "of an unknown mode, to shared", UNTOLD, HCA, NULL },
	{ "from exclusive to an unknown mode", RAIL, UNTOLD, "as rdma/rail" },
};

static void check_case(AllocationsFixture *f, const Case *c, gboolean reopen)
{
	g_autofree char *listed = g_strdup_printf("p=%s", c->holder.slot);
	g_autoptr(RdmadAllocationRef) given = NULL;
	g_autoptr(GError) error = NULL;

	rdmad_allocations_set_kubelet(f->allocations, "k1");
	must_grant(f, &c->holder);
	list_of(f, c->holder.resource, listed, "k1", 0);
	if (reopen) {
		allocations_fixture_reopen(f);
		rdmad_allocations_set_kubelet(f->allocations, "k1");
	}
	given = grant(f, &c->asked, NULL, &error);
	g_assert_true((given == NULL) == (c->refused != NULL));
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, given ? 2 : 1);
	if (!c->refused)
		return;
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_nonnull(strstr(error->message, c->refused));
	g_assert_true(g_str_has_prefix(error->message, c->asked.resource));
}

static void check_in_own_table(const Case *c, gboolean reopen)
{
	AllocationsFixture f = { 0 };

	allocations_fixture_setup(&f, NULL);
	check_case(&f, c, reopen);
	allocations_fixture_teardown(&f, NULL);
}

static void test_case(gconstpointer data)
{
	check_in_own_table(data, FALSE);
	check_in_own_table(data, TRUE);
}

/* ---- until when ---- */

typedef struct {
	const char *name;
	gboolean named;
	RdmadPodLife life;
	const char *list;    /* after the request, of the holder's resource; NULL: none */
	const char *refused; /* NULL: granted */
	gboolean doubt;
	const char *boot, *kubelet;
} Until;

static const Until untils[] = {
	{ "it lives", TRUE, ALIVE, "p=d", "free when that pod has ended", FALSE, "b1", "k1" },
	{ "it lives, not asked", TRUE, ALIVE, NULL, "does not show", TRUE, "b1", "k1" },
	{ "nothing is known of it", TRUE, UNKNOWN, "p=d", "as rdma/rail", FALSE, "b1", "k1" },
	{ "its last process has ended", TRUE, EMPTY, "p=d", "as rdma/rail", FALSE, "b1", "k1" },
	{ "a first list lacks it", TRUE, UNKNOWN, "q=x", "as rdma/rail", FALSE, "b1", "k1" },
	{ "its cgroup is gone", TRUE, GONE, NULL, NULL, FALSE, "b1", "k1" },
	{ "it has no name", FALSE, UNKNOWN, NULL, "not named", TRUE, "b1", "k1" },
	{ "another kubelet", TRUE, UNKNOWN, "p=", "ns/p", FALSE, "b1", "k2" },
	{ "another boot, in which it starts again", TRUE, UNKNOWN, NULL, "ns/p", TRUE, "b2", "k2" },
};

static void test_until(gconstpointer data)
{
	static const Hold rail = RAIL, pool_b = POOL_B;
	const Until *u = data;
	AllocationsFixture f = { 0 };
	RdmadPodLife life = u->life;
	g_autoptr(RdmadAllocationRef) given = NULL;
	g_autoptr(GError) error = NULL;
	gboolean doubt;

	allocations_fixture_setup(&f, NULL);
	rdmad_allocations_set_boot(f.allocations, "b1");
	rdmad_allocations_set_kubelet(f.allocations, "k1");
	must_grant(&f, &rail);
	if (u->named)
		list_of(&f, "rdma/rail", "p=d", "k1", 0);
	rdmad_allocations_set_liveness(f.allocations, life_of, &life);
	rdmad_allocations_set_boot(f.allocations, u->boot);
	rdmad_allocations_set_kubelet(f.allocations, u->kubelet);
	if (u->list)
		list_of(&f, "rdma/rail", u->list, u->kubelet, SECOND);
	given = grant(&f, &pool_b, &doubt, &error);
	g_assert_cmpint(doubt, ==, u->doubt);
	g_assert_true((given == NULL) == (u->refused != NULL));
	if (u->refused)
		g_assert_nonnull(strstr(error->message, u->refused));
	rdmad_allocations_set_liveness(f.allocations, NULL, NULL);
	allocations_fixture_teardown(&f, NULL);
}

static void test_the_end_of_the_holder_frees_its_devices(AllocationsFixture *f, gconstpointer data)
{
	static const Hold rail = RAIL, pool_b = POOL_B;
	g_autoptr(RdmadAllocationRef) holder = grant(f, &rail, NULL, NULL);

	g_assert_null(grant(f, &pool_b, NULL, NULL));
	g_assert_true(rdmad_allocations_end(f->allocations, holder->id, "test", NULL));
	must_grant(f, &pool_b);
}

/* ---- grants of one transaction ---- */

static void test_of_grants_at_once_the_first_has_the_device(AllocationsFixture *f,
							    gconstpointer data)
{
	static const Hold holds[] = { EXPOSES, POOL_B, HCA, OTHER, RAIL };
	static const gboolean granted[] = { TRUE, FALSE, TRUE, FALSE, FALSE };
	RdmadGrantCall *pointers[G_N_ELEMENTS(holds)];
	Call calls[G_N_ELEMENTS(holds)];

	for (guint i = 0; i < G_N_ELEMENTS(holds); i++) {
		call_init(&calls[i], &holds[i]);
		pointers[i] = &calls[i].call;
	}
	rdmad_allocations_grant_all(f->allocations, pointers, G_N_ELEMENTS(holds));
	for (guint i = 0; i < G_N_ELEMENTS(holds); i++) {
		g_test_message("%s", holds[i].resource);
		g_assert_true((calls[i].call.allocation != NULL) == granted[i]);
		if (!granted[i])
			g_assert_error(calls[i].call.error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
		rdmad_allocation_unref(calls[i].call.allocation);
		g_clear_error(&calls[i].call.error);
	}
}

/* ---- the question ---- */

static const char *holder_of(AllocationsFixture *f, const char *device, RdmadHold hold)
{
	const RdmadAllocation *holder =
		rdmad_allocations_find_holder(f->allocations, device, hold, NULL, NULL);

	return holder ? holder->resource : NULL;
}

static gboolean is_of(const RdmadAllocation *holder, gpointer resource)
{
	return g_str_equal(holder->resource, resource);
}

static void test_a_device_has_holders_of_all_resources(AllocationsFixture *f, gconstpointer data)
{
	static const Hold holds[] = { EXPOSES, HCA, OTHER };
	static const Hold exposed_too = { "rdma/all", "f::1", "f", "e", "shared" };
	g_autoptr(RdmadAllocationRef) first = NULL;

	g_assert_null(holder_of(f, "d", RDMAD_HOLD_ANY));
	first = grant(f, &holds[0], NULL, NULL);
	must_grant(f, &holds[1]);
	g_assert_cmpstr(holder_of(f, "d", RDMAD_HOLD_ANY), ==, "rdma/all");
	g_assert_null(holder_of(f, "d", RDMAD_HOLD_EXCLUSIVE));
	g_assert_nonnull(rdmad_allocations_find_holder(f->allocations, "d", RDMAD_HOLD_ANY, is_of,
						       (gpointer) "rdma/hca"));
	g_assert_true(rdmad_allocations_end(f->allocations, first->id, "test", NULL));
	g_assert_cmpstr(holder_of(f, "d", RDMAD_HOLD_ANY), ==, "rdma/hca");
	g_assert_null(holder_of(f, "e", RDMAD_HOLD_ANY));
	must_grant(f, &holds[2]);
	g_assert_cmpstr(holder_of(f, "e", RDMAD_HOLD_EXCLUSIVE), ==, "rdma/rail");
	g_assert_null(grant(f, &exposed_too, NULL, NULL));
}

static void test_several_slots_of_a_device_are_one_hold(AllocationsFixture *f, gconstpointer data)
{
	static const char *const slots[] = { "d::1", "e::1", "d::2", NULL };
	static const char *const devices[] = { "d", "e", "d", NULL };
	const RdmadGrant wanted = { "test", "rdma/hca", slots, devices, "exclusive" };
	g_autoptr(RdmadAllocationRef) allocation =
		rdmad_allocations_grant(f->allocations, &wanted, NULL);

	g_assert_cmpstr(holder_of(f, "d", RDMAD_HOLD_EXCLUSIVE), ==, "rdma/hca");
	g_assert_true(rdmad_allocations_end(f->allocations, allocation->id, "test", NULL));
	g_assert_null(holder_of(f, "d", RDMAD_HOLD_ANY));
	g_assert_null(holder_of(f, "e", RDMAD_HOLD_ANY));
}

/* ---- the loss of the database ---- */

static const char *device_of(const char *slot, gpointer data)
{
	return slot;
}

static const char *mode_of(gpointer data)
{
	return data;
}

static void test_an_adopted_allocation_has_the_mode_of_its_resource(AllocationsFixture *f,
								    gconstpointer data)
{
	static const Hold hca = HCA;
	const RdmadAllocationResolver resolver = {
		.owner = "test", .resource = "rdma/rail", .device_of = device_of, .mode_of = mode_of
	};

	rdmad_allocations_set_resolver(f->allocations, SOME_MODULE, &resolver,
				       (gpointer) "exclusive");
	list_of(f, "rdma/rail", "p=d", "k1", 0);
	g_assert_cmpstr(holder_of(f, "d", RDMAD_HOLD_EXCLUSIVE), ==, "rdma/rail");
	g_assert_null(grant(f, &hca, NULL, NULL));
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/allocations-device/" #name, AllocationsFixture, NULL,                  \
			  allocations_fixture_setup, test_##name, allocations_fixture_teardown)

const UnitTest unit_tests[] = {
	UNIT_CASES("/allocations-device/excludes/", cases, test_case),
	UNIT_CASES("/allocations-device/until/", untils, test_until),
	TEST(the_end_of_the_holder_frees_its_devices),
	TEST(of_grants_at_once_the_first_has_the_device),
	TEST(a_device_has_holders_of_all_resources),
	TEST(several_slots_of_a_device_are_one_hold),
	TEST(an_adopted_allocation_has_the_mode_of_its_resource),
	{ .path = NULL },
};
