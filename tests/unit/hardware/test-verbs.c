/* SPDX-License-Identifier: Apache-2.0 */
/* Following a device that no machine has */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/work.h"
#include "hardware/device.h"
#include "hardware/verbs/open.h"
#include "hardware/verbs/verbs.h"
#include "service/inventory-private.h"
#include "service/event-log-private.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

#define ID "0000:3b:00.0"

typedef struct {
	RdmadLoop *loop;
	RdmadWorkers *workers;
	RdmadEventLog *event_log;
	RdmadInventory *inventory;
	RdmadVerbs *verbs;
	guint hints;
} Fixture;

static void hint(const char *device_id, gpointer data)
{
	Fixture *f = data;

	f->hints++;
}

static void fatal(const char *device_id, gpointer data)
{
	g_error("%s failed, which is not there", device_id);
}

static void port(const char *device_id, guint number, gboolean active, gpointer data)
{
	g_error("%s port %u changed, which is not there", device_id, number);
}

static void setup(Fixture *f, gconstpointer data)
{
	static const RdmadVerbsOps ops = { .hint = hint, .port = port, .fatal = fatal };

	f->loop = rdmad_loop_new();
	f->workers = rdmad_workers_new(f->loop, 1, NULL);
	f->event_log = rdmad_event_log_new(f->loop);
	f->inventory = rdmad_inventory_new(f->loop, f->event_log);
	f->verbs = rdmad_verbs_new(f->loop, f->workers, &ops, f);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_verbs_free(f->verbs);
	rdmad_inventory_free(f->inventory);
	rdmad_event_log_free(f->event_log);
	rdmad_workers_free(f->workers);
	rdmad_loop_free(f->loop);
}

static RdmadDevice *device(int index, gboolean with_uverbs)
{
	RdmadDevice *dev = rdmad_device_new(ID, "nonesuch_0");

	dev->index = index;
	if (!with_uverbs)
		return dev;
	dev->chardevs = g_new0(RdmadChardev, 1);
	dev->n_chardevs = 1;
	dev->chardevs[0].kind = RDMAD_CHARDEV_UVERBS;
	dev->chardevs[0].path = g_strdup("/dev/infiniband/uverbs77");
	return dev;
}

static RdmadDevice *renamed(RdmadDevice *dev)
{
	g_free(dev->name);
	dev->name = g_strdup("ibp59s0");
	return dev;
}

/* Makes this the only device of the machine; NULL: none. */
static void scan(Fixture *f, RdmadDevice *dev)
{
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);

	if (dev)
		g_ptr_array_add(devices, dev);
	rdmad_inventory_replace(f->inventory, devices,
				g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_gpu_free));
	rdmad_verbs_follow(f->verbs, f->inventory);
}

static void nothing(gpointer data)
{
}

/* Returns the number of hints, which is that of openings. */
static guint hints_within(Fixture *f, guint ms)
{
	g_autoptr(RdmadEvent) end = rdmad_loop_add_timer(f->loop, NULL, nothing, NULL);
	const guint before = f->hints;

	rdmad_event_arm(end, ms);
	while (rdmad_event_armed(end) && f->hints == before)
		rdmad_loop_turn(f->loop);
	return f->hints - before;
}

static void assert_being_opened(Fixture *f)
{
	g_assert_cmpstr(rdmad_verbs_problem(f->verbs, ID), ==, "it is being opened");
}

static void test_what_cannot_be_opened_is_not_tried(Fixture *f, gconstpointer data)
{
	scan(f, device(RDMAD_UNKNOWN, TRUE));
	g_assert_cmpstr(rdmad_verbs_problem(f->verbs, ID), ==, "it has no uverbs node");
	scan(f, device(3, FALSE));
	g_assert_cmpstr(rdmad_verbs_problem(f->verbs, ID), ==, "it has no uverbs node");
	g_assert_cmpuint(hints_within(f, 50), ==, 0);
}

static void test_a_device_that_does_not_open_has_a_reason_and_no_limits(Fixture *f,
									gconstpointer data)
{
	scan(f, device(3, TRUE));
	assert_being_opened(f);
	g_assert_null(rdmad_verbs_limits(f->verbs, ID));
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	/* Whether or not the machine has other RDMA devices. */
	g_assert_nonnull(strstr(rdmad_verbs_problem(f->verbs, ID), "libibverbs"));
	g_assert_null(rdmad_verbs_limits(f->verbs, ID));
	g_assert_null(rdmad_verbs_limits_problem(f->verbs, ID));
}

static void test_opening_is_tried_three_times(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 3; i++) {
		scan(f, device(3, TRUE));
		g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	}
	scan(f, device(3, TRUE));
	g_assert_cmpuint(hints_within(f, 50), ==, 0);
	g_assert_nonnull(strstr(rdmad_verbs_problem(f->verbs, ID), "libibverbs"));
}

void __real_rdmad_event_arm(RdmadEvent *ev, guint ms);
void __wrap_rdmad_event_arm(RdmadEvent *ev, guint ms);

static int hangs; /* atomic: libibverbs does not return */

/* A minute between two attempts is less here.  The time for one is less only
   where none returns: the first call of libibverbs in a process loads its
   providers, which takes 50 ms and more with sanitizers. */
void __wrap_rdmad_event_arm(RdmadEvent *ev, guint ms)
{
	const gboolean less = ms >= 60000 || (ms >= 30000 && g_atomic_int_get(&hangs));

	__real_rdmad_event_arm(ev, less ? ms / 1000 : ms);
}

static void test_opening_is_tried_again_after_a_lack_of_descriptors(Fixture *f, gconstpointer data)
{
	const rlim_t before = limit_descriptors(0);
	const char *problem;

	for (guint i = 0; i < 4; i++) {
		scan(f, device(3, TRUE));
		g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	}
	problem = rdmad_verbs_problem(f->verbs, ID);
	limit_descriptors(before);
	g_assert_cmpstr(problem, ==, "libibverbs: Too many open files");
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	g_assert_cmpstr(rdmad_verbs_problem(f->verbs, ID), !=, "libibverbs: Too many open files");
	/* The lack of a provider does not pass. */
	scan(f, device(3, TRUE));
	g_assert_cmpuint(hints_within(f, 200), ==, 0);
}

static void test_what_comes_again_is_opened_again(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 4; i++) {
		scan(f, device(3, TRUE));
		hints_within(f, 50);
	}
	scan(f, device(4, TRUE));
	assert_being_opened(f);
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
}

static void test_a_device_is_opened_by_its_new_name(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 4; i++) {
		scan(f, device(3, TRUE));
		hints_within(f, 50);
	}
	scan(f, renamed(device(3, TRUE)));
	assert_being_opened(f);
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
}

static void test_an_answer_for_the_old_name_is_not_taken(Fixture *f, gconstpointer data)
{
	scan(f, device(3, TRUE));
	scan(f, renamed(device(3, TRUE)));
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	assert_being_opened(f);
	scan(f, renamed(device(3, TRUE)));
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	g_assert_nonnull(strstr(rdmad_verbs_problem(f->verbs, ID), "libibverbs"));
}

static void test_what_leaves_while_it_is_opened_is_forgotten(Fixture *f, gconstpointer data)
{
	scan(f, device(3, TRUE));
	scan(f, NULL);
	g_assert_cmpstr(rdmad_verbs_problem(f->verbs, ID), ==, "it has no uverbs node");
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	g_assert_cmpstr(rdmad_verbs_problem(f->verbs, ID), ==, "it has no uverbs node");
}

static void test_an_answer_for_the_one_before_is_not_taken(Fixture *f, gconstpointer data)
{
	scan(f, device(3, TRUE));
	scan(f, device(4, TRUE));
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	assert_being_opened(f);
	scan(f, device(4, TRUE));
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	g_assert_nonnull(strstr(rdmad_verbs_problem(f->verbs, ID), "libibverbs"));
}

static void test_it_may_end_while_it_opens(Fixture *f, gconstpointer data)
{
	scan(f, device(3, TRUE));
	/* teardown frees it while the job runs */
}

/* ---- a device that opens: libibverbs' part is the test's ---- */

void __real_rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job);
void __wrap_rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job);
int __wrap_ibv_close_device(struct ibv_context *context);

static gboolean opens;
static int closed, closed_on_loop;
static pthread_t loop_thread;

void __wrap_rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job)
{
	while (g_atomic_int_get(&hangs))
		g_usleep(1000);
	if (!opens) {
		__real_rdmad_verbs_open_all(wanted, job);
		return;
	}
	for (guint i = 0; i < wanted->len; i++) {
		RdmadVerbsOpen *open = wanted->pdata[i];

		open->context = g_new0(struct ibv_context, 1);
		open->context->async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
}

int __wrap_ibv_close_device(struct ibv_context *context)
{
	if (pthread_equal(pthread_self(), loop_thread))
		g_atomic_int_inc(&closed_on_loop);
	close(context->async_fd);
	g_free(context);
	g_atomic_int_inc(&closed);
	return 0;
}

/* Another attempt would occupy another worker. */
static void test_a_device_that_hangs_is_not_opened_again(Fixture *f, gconstpointer data)
{
	const rlim_t before = limit_descriptors(0);
	guint hints;

	scan(f, device(3, TRUE));
	hints = hints_within(f, 10000);
	limit_descriptors(before);
	g_assert_cmpuint(hints, ==, 1);
	g_assert_cmpstr(rdmad_verbs_problem(f->verbs, ID), ==, "libibverbs: Too many open files");
	g_atomic_int_set(&hangs, TRUE);
	scan(f, device(3, TRUE));
	hints_within(f, 200);
	g_assert_nonnull(strstr(rdmad_verbs_problem(f->verbs, ID), "did not end in time"));
	g_atomic_int_set(&hangs, FALSE);
	scan(f, device(3, TRUE));
	g_assert_cmpuint(hints_within(f, 200), ==, 0);
}

static void setup_opens(Fixture *f, gconstpointer data)
{
	opens = TRUE;
	g_atomic_int_set(&closed, 0);
	g_atomic_int_set(&closed_on_loop, 0);
	loop_thread = pthread_self();
	setup(f, data);
}

/* The end of the daemon closes open devices. */
static void teardown_opens(Fixture *f, gconstpointer data)
{
	teardown(f, data);
	opens = FALSE;
	g_assert_cmpint(g_atomic_int_get(&closed), ==, 1);
	g_assert_cmpint(g_atomic_int_get(&closed_on_loop), ==, 0);
}

static void wait_for_open(Fixture *f)
{
	scan(f, device(3, TRUE));
	g_assert_cmpuint(hints_within(f, 10000), ==, 1);
	g_assert_null(rdmad_verbs_problem(f->verbs, ID));
}

static void wait_for_close(Fixture *f)
{
	const gint64 until_us = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

	while (!g_atomic_int_get(&closed) && g_get_monotonic_time() < until_us)
		hints_within(f, 1);
}

static void test_a_device_that_leaves_is_closed_on_a_worker(Fixture *f, gconstpointer data)
{
	wait_for_open(f);
	scan(f, NULL);
	wait_for_close(f);
}

static void test_a_device_that_left_while_it_was_opened_is_closed_on_a_worker(Fixture *f,
									      gconstpointer data)
{
	scan(f, device(3, TRUE));
	scan(f, NULL);
	wait_for_close(f);
}

static void test_an_open_device_stays_open_when_it_is_renamed(Fixture *f, gconstpointer data)
{
	wait_for_open(f);
	scan(f, renamed(device(3, TRUE)));
	g_assert_cmpuint(hints_within(f, 50), ==, 0);
	g_assert_null(rdmad_verbs_problem(f->verbs, ID));
}

static void test_at_the_end_devices_are_closed_on_a_worker(Fixture *f, gconstpointer data)
{
	wait_for_open(f);
}

#define TEST(name) UNIT_FIXTURE_TEST("/verbs/" #name, Fixture, NULL, setup, test_##name, teardown)
#define TEST_OPENS(name)                                                                           \
	UNIT_FIXTURE_TEST("/verbs/" #name, Fixture, NULL, setup_opens, test_##name, teardown_opens)

const UnitTest unit_tests[] = {
	TEST(what_cannot_be_opened_is_not_tried),
	TEST(a_device_that_does_not_open_has_a_reason_and_no_limits),
	TEST(opening_is_tried_three_times),
	TEST(opening_is_tried_again_after_a_lack_of_descriptors),
	TEST(a_device_that_hangs_is_not_opened_again),
	TEST(what_comes_again_is_opened_again),
	TEST(a_device_is_opened_by_its_new_name),
	TEST(an_answer_for_the_old_name_is_not_taken),
	TEST(what_leaves_while_it_is_opened_is_forgotten),
	TEST(an_answer_for_the_one_before_is_not_taken),
	TEST(it_may_end_while_it_opens),
	TEST_OPENS(a_device_that_leaves_is_closed_on_a_worker),
	TEST_OPENS(a_device_that_left_while_it_was_opened_is_closed_on_a_worker),
	TEST_OPENS(an_open_device_stays_open_when_it_is_renamed),
	TEST_OPENS(at_the_end_devices_are_closed_on_a_worker),
	{ 0 },
};
