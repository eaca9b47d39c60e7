/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocations-fixture.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

static void test_a_grant_is_found_and_survives(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "b,a");
	const RdmadAllocation *allocation;

	for (guint round = 0; round < 2; round++) {
		allocation = rdmad_allocations_lookup(f->allocations, id);
		g_assert_nonnull(allocation);
		g_assert_cmpuint(strspn(id, "0123456789abcdef"), ==, 16);
		g_assert_cmpstr(allocation->resource, ==, "rdma/hca");
		g_assert_cmpstr(allocation->owner, ==, "test");
		g_assert_cmpstr(allocation->slots[0], ==, "a");
		g_assert_cmpstr(allocation->devices[0], ==, "dev-a");
		g_assert_cmpstr(allocation->slots[1], ==, "b");
		g_assert_cmpstr(allocation->devices[1], ==, "dev-b");
		g_assert_null(allocation->slots[2]);
		g_assert_null(allocation->pod_name);
		g_assert_true(rdmad_allocations_by_slot(f->allocations, "rdma/hca", "b") ==
			      allocation);
		g_assert_null(rdmad_allocations_by_slot(f->allocations, "rdma/other", "b"));
		g_assert_null(rdmad_allocations_by_slot(f->allocations, "rdma/hca", "c"));
		g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 1);
		allocations_fixture_reopen(f);
	}
}

static void test_allocations_come_oldest_first(AllocationsFixture *f, gconstpointer data)
{
	static const char *const slots[] = { "c", "a", "b", "d" };

	for (guint i = 0; i < G_N_ELEMENTS(slots); i++)
		g_free(allocations_fixture_must_grant(f, slots[i]));
	allocations_fixture_expect(f, "c a b d");
	/* Assigned again, possibly to another container of the pod. */
	g_free(allocations_fixture_must_grant(f, "a"));
	allocations_fixture_expect(f, "c a b d a");
	allocations_fixture_reopen(f);
	allocations_fixture_expect(f, "c a b d a");
}

static gboolean is_on_device(const RdmadAllocation *allocation, gconstpointer device_id)
{
	return rdmad_allocation_has_device(allocation, device_id);
}

static void test_the_oldest_that_is_wanted_is_found(AllocationsFixture *f, gconstpointer data)
{
	static const char *const slots[] = { "c", "b,a", "a" };
	const RdmadAllocation *found;

	for (guint i = 0; i < G_N_ELEMENTS(slots); i++)
		g_free(allocations_fixture_must_grant(f, slots[i]));
	found = rdmad_allocations_find(f->allocations, is_on_device, "dev-a");
	g_assert_nonnull(found);
	g_assert_cmpstr(found->slots[1], ==, "b");
	g_assert_null(rdmad_allocations_find(f->allocations, is_on_device, "dev-d"));
}

static gboolean attach(AllocationsFixture *f, const char *id, const char *netns,
		       const char *interface, const char *address, GError **error)
{
	char *addresses[] = { (char *)address, NULL };
	const RdmadAttachment at = { (char *)netns, (char *)interface, NULL,
				     address ? addresses : NULL, 3 };

	return rdmad_allocations_attach(f->allocations, id, &at, error);
}

static void expect_slot(AllocationsFixture *f, const char *slot, const char *id)
{
	const RdmadAllocation *allocation =
		rdmad_allocations_by_slot(f->allocations, "rdma/hca", slot);

	g_assert_cmpstr(allocation ? allocation->id : NULL, ==, id);
}

static void end(AllocationsFixture *f, const char *id)
{
	g_assert_true(rdmad_allocations_end(f->allocations, id, "enough", NULL));
}

static void test_each_container_that_shares_a_slot_has_its_allocation(AllocationsFixture *f,
								      gconstpointer data)
{
	g_autofree char *first = allocations_fixture_must_grant(f, "a,b");
	g_autofree char *second = allocations_fixture_must_grant(f, "b,a");
	g_autofree char *third = allocations_fixture_must_grant(f, "b,c");

	g_assert_cmpstr(first, !=, second);
	for (guint round = 0; round < 2; round++) {
		allocations_fixture_expect(f, "a,b a,b b,c");
		expect_slot(f, "a", second);
		expect_slot(f, "b", third);
		expect_slot(f, "c", third);
		allocations_fixture_reopen(f);
	}
	g_assert_true(attach(f, second, "/ns", "net1", NULL, NULL));
	expect_slot(f, "a", second);
	end(f, third);
	expect_slot(f, "b", second);
	expect_slot(f, "c", NULL);
	end(f, first);
	expect_slot(f, "b", second);
	end(f, second);
	expect_slot(f, "b", NULL);
	allocations_fixture_reopen(f);
	allocations_fixture_expect(f, "");
}

static void test_no_slot_has_allocations_without_end(AllocationsFixture *f, gconstpointer data)
{
	for (guint i = 0; i < 100; i++)
		g_free(allocations_fixture_must_grant(f, "a"));
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 33);
}

static void test_the_same_slot_of_two_resources_is_two_allocations(AllocationsFixture *f,
								   gconstpointer data)
{
	static const char *const slots[] = { "a", NULL };
	const RdmadGrant grant = { "test", "rdma/other", slots, slots };
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadAllocationRef) other = NULL;

	g_free(allocations_fixture_must_grant(f, "a"));
	other = rdmad_allocations_grant(f->allocations, &grant, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 2);
	g_assert_true(rdmad_allocations_by_slot(f->allocations, "rdma/other", "a") == other);
	g_assert_cmpuint(rdmad_allocations_totals(f->allocations, "rdma/other").slots, ==, 1);
	end(f, other->id);
	g_assert_cmpuint(rdmad_allocations_totals(f->allocations, "rdma/other").allocations, ==, 0);
	g_assert_cmpuint(rdmad_allocations_totals(f->allocations, "rdma/hca").slots, ==, 1);
}

typedef struct {
	const char *name, *resource, *slots, *devices;
} BadGrant;

static void test_bad_grants_change_nothing(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *long_name = g_strnfill(254, 'x');
	g_autofree char *too_many = g_strnfill(2 * RDMAD_ALLOCATION_MAX_SLOTS, ',');
	const BadGrant bad[] = {
		{ "nothing", "rdma/hca", "", "" },
		{ "a slot twice", "rdma/hca", "a,b,a", "1,2,3" },
		{ "an empty slot", "rdma/hca", "a,,b", "1,2,3" },
		{ "an empty device", "rdma/hca", "a,b", "1," },
		{ "more slots than devices", "rdma/hca", "a,b", "1" },
		{ "more devices than slots", "rdma/hca", "a", "1,2" },
		{ "no resource", "", "a", "1" },
		{ "a long slot", "rdma/hca", long_name, "1" },
		{ "a long device", "rdma/hca", "a", long_name },
		{ "no text", "rdma/hca", "\xff", "1" },
		{ "too many", "rdma/hca", too_many, too_many },
	};

	g_free(allocations_fixture_must_grant(f, "a,b"));
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_auto(GStrv) slots = g_strsplit(bad[i].slots, ",", -1);
		g_auto(GStrv) devices = g_strsplit(bad[i].devices, ",", -1);
		const RdmadGrant grant = { "test", bad[i].resource, (const char *const *)slots,
					   (const char *const *)devices };
		g_autoptr(GError) error = NULL;

		g_test_message("%s", bad[i].name);
		g_assert_null(rdmad_allocations_grant(f->allocations, &grant, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		allocations_fixture_expect(f, "a,b");
	}
}

static void test_the_most_slots_that_are_allowed(AllocationsFixture *f, gconstpointer data)
{
	g_autoptr(GString) slots = g_string_new("t0000");
	g_autoptr(GError) error = NULL;

	for (guint i = 1; i < RDMAD_ALLOCATION_MAX_SLOTS; i++)
		g_string_append_printf(slots, ",t%04u", i);
	g_free(allocations_fixture_must_grant(f, slots->str));
	allocations_fixture_reopen(f);
	allocations_fixture_expect(f, slots->str);
	g_string_append(slots, ",u");
	g_assert_null(allocations_fixture_grant(f, slots->str, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_an_ended_allocation_is_gone(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "a");
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_allocations_end(f->allocations, id, "enough", &error));
	g_assert_no_error(error);
	g_assert_null(rdmad_allocations_lookup(f->allocations, id));
	allocations_fixture_reopen(f);
	allocations_fixture_expect(f, "");
	g_assert_false(rdmad_allocations_end(f->allocations, id, "enough", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_attachments_are_replaced_by_name(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "a");
	const RdmadAllocation *allocation;

	g_assert_true(attach(f, id, "/ns", "net1", "192.0.2.7/24", NULL));
	g_assert_true(attach(f, id, "/ns", "net2", NULL, NULL));
	g_assert_true(attach(f, id, "/ns", "net1", "192.0.2.8/24", NULL));
	for (guint round = 0; round < 2; round++) {
		allocation = rdmad_allocations_lookup(f->allocations, id);
		g_assert_cmpuint(allocation->n_attachments, ==, 2);
		g_assert_cmpstr(allocation->attachments[0].interface, ==, "net2");
		g_assert_null(allocation->attachments[0].addresses[0]);
		g_assert_cmpstr(allocation->attachments[1].interface, ==, "net1");
		g_assert_cmpstr(allocation->attachments[1].addresses[0], ==, "192.0.2.8/24");
		allocations_fixture_reopen(f);
	}
	g_assert_true(rdmad_allocations_detach(f->allocations, id, "/ns", "net2", NULL));
	allocations_fixture_reopen(f);
	allocation = rdmad_allocations_lookup(f->allocations, id);
	g_assert_cmpuint(allocation->n_attachments, ==, 1);
	g_assert_cmpstr(allocation->attachments[0].interface, ==, "net1");
}

static void test_bad_attachments_are_refused(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "a");
	g_autoptr(GError) error = NULL;

	g_assert_false(attach(f, "0123456789abcdef", "/ns", "net1", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_clear_error(&error);
	g_assert_false(attach(f, id, "", "net1", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_true(attach(f, id, "/ns", "net0", NULL, NULL));
	g_assert_false(attach(f, id, NULL, "net1", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_false(attach(f, id, "/ns", "net1", "two\nlines", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_false(rdmad_allocations_detach(f->allocations, id, "/ns", "net1", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_clear_error(&error);
	for (guint i = 0; i < RDMAD_ALLOCATION_MAX_ATTACHMENTS; i++) {
		g_autofree char *interface = g_strdup_printf("net%u", i);

		g_assert_true(attach(f, id, "/ns", interface, NULL, NULL));
	}
	g_assert_false(attach(f, id, "/ns", "one more", NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
	g_assert_true(attach(f, id, "/ns", "net0", "192.0.2.1/24", NULL));
	allocations_fixture_reopen(f);
	g_assert_cmpuint(rdmad_allocations_lookup(f->allocations, id)->n_attachments, ==,
			 RDMAD_ALLOCATION_MAX_ATTACHMENTS);
}

static void see_granted(const RdmadAllocation *allocation, gpointer data)
{
	g_string_append_printf(((AllocationsFixture *)data)->seen, "+%s ", allocation->slots[0]);
}

static void see_changed(const RdmadAllocation *before, const RdmadAllocation *now, gpointer data)
{
	g_assert_cmpstr(before->id, ==, now->id);
	g_string_append_printf(((AllocationsFixture *)data)->seen, "~%s(%u) ", now->slots[0],
			       now->n_attachments);
}

static void see_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	g_string_append_printf(((AllocationsFixture *)data)->seen, "-%s(%s) ", allocation->slots[0],
			       reason);
}

static const RdmadAllocationOps see = { see_granted, see_changed, see_ended };

static void expect_seen(AllocationsFixture *f, const char *seen)
{
	allocations_fixture_run(f);
	g_assert_cmpstr(f->seen->str, ==, seen);
	g_string_truncate(f->seen, 0);
}

static void test_a_watch_gets_everything_in_order(AllocationsFixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = NULL;
	g_autofree char *id = allocations_fixture_must_grant(f, "a");

	watch = rdmad_allocations_watch(f->allocations, NULL, &see, f);
	g_assert_cmpstr(f->seen->str, ==, "");
	expect_seen(f, "+a ");
	g_assert_true(attach(f, id, "/ns", "net1", NULL, NULL));
	g_free(allocations_fixture_must_grant(f, "b"));
	g_free(allocations_fixture_must_grant(f, "a"));
	g_assert_true(rdmad_allocations_end(f->allocations, id, "enough", NULL));
	g_assert_cmpstr(f->seen->str, ==, "");
	expect_seen(f, "~a(1) +b +a -a(enough) ");
}

static void grant_more(const RdmadAllocation *allocation, gpointer data)
{
	see_granted(allocation, data);
	if (g_str_equal(allocation->slots[0], "a"))
		g_free(allocations_fixture_must_grant(data, "z"));
}

static void test_a_watcher_may_grant(AllocationsFixture *f, gconstpointer data)
{
	static const RdmadAllocationOps granting = { .granted = grant_more };
	g_autoptr(RdmadWatch) first G_GNUC_UNUSED = NULL, second G_GNUC_UNUSED = NULL;

	first = rdmad_allocations_watch(f->allocations, NULL, &granting, f);
	second = rdmad_allocations_watch(f->allocations, NULL, &see, f);
	g_free(allocations_fixture_must_grant(f, "a"));
	/* Each watch is called once for each allocation. */
	expect_seen(f, "+a +a +z +z ");
}

static void test_a_borrowed_allocation_lasts_for_the_turn(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "a");
	const RdmadAllocation *allocation = rdmad_allocations_lookup(f->allocations, id);

	g_assert_true(attach(f, id, "/ns", "net1", NULL, NULL));
	g_assert_true(rdmad_allocations_end(f->allocations, id, "enough", NULL));
	g_assert_cmpstr(allocation->id, ==, id);
}

static void test_what_a_module_leaves_is_reaped(AllocationsFixture *f, gconstpointer data)
{
	(void)!rdmad_allocations_watch(f->allocations, SOME_MODULE, &see, f);
	g_assert_cmpuint(rdmad_allocations_reap(f->allocations, NULL), ==, 0);
	g_assert_cmpuint(rdmad_allocations_reap(f->allocations, SOME_MODULE), ==, 1);
	g_free(allocations_fixture_must_grant(f, "a"));
	expect_seen(f, "");
}

static void test_the_event_log_has_the_changes(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "a");

	g_assert_true(attach(f, id, "/ns", "net1", NULL, NULL));
	g_assert_true(rdmad_allocations_detach(f->allocations, id, "/ns", "net1", NULL));
	g_assert_true(rdmad_allocations_end(f->allocations, id, "enough", NULL));
	allocations_fixture_expect_events(
		f, "allocation-granted allocation-attached allocation-detached allocation-ended ");
}

/* ---- a failing disk ---- */

/* Returns "first" and so many slots that they need a new page if a single slot does not fit. */
static char *many_slots(void)
{
	GString *slots = g_string_new("first");

	for (guint i = 0; i < 500; i++)
		g_string_append_printf(slots, ",of-many-%u", i);
	return g_string_free(slots, FALSE);
}

/* Grants until it fails; then the table must be what was acknowledged, in memory and on the
 * disk. */
static void check_full_disk(AllocationsFixture *f, void (*free_space)(gpointer data), gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *before = NULL, *after = NULL, *many = many_slots(),
			*first = allocations_fixture_must_grant(f, "first");
	guint n = 0;

	while (!error) {
		g_autofree char *slot = g_strdup_printf("slot-%u", n++);
		g_autoptr(RdmadAllocationRef) allocation = NULL;

		g_clear_pointer(&before, g_free);
		before = allocations_fixture_text(f);
		allocation = allocations_fixture_grant(f, slot, &error);
		g_assert_true((allocation == NULL) == (error != NULL));
		g_assert_cmpuint(n, <, 100000);
	}
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "rdmad.db"));
	g_assert_cmpstr(rdmad_allocations_problem(f->allocations), ==, error->message);
	allocations_fixture_expect(f, before);
	g_clear_error(&error);
	g_assert_null(allocations_fixture_grant(f, many, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(rdmad_allocations_lookup(f->allocations, first));
	allocations_fixture_expect(f, before);

	free_space(data);
	/* It recovers without a restart, and the next start finds the same. */
	g_free(allocations_fixture_must_grant(f, "by-itself"));
	g_assert_null(rdmad_allocations_problem(f->allocations));
	g_assert_true(rdmad_allocations_end(
		f->allocations,
		rdmad_allocations_by_slot(f->allocations, "rdma/hca", "by-itself")->id, "test",
		NULL));
	allocations_fixture_reopen(f);
	allocations_fixture_expect(f, before);
	g_free(allocations_fixture_must_grant(f, "another"));
	g_assert_null(rdmad_allocations_problem(f->allocations));
	after = g_strconcat(before, " another", NULL);
	allocations_fixture_expect(f, after);
}

static void limit_lift(gpointer data)
{
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, data), ==, 0);
}

static void test_a_file_that_may_not_grow_is_an_error(AllocationsFixture *f, gconstpointer data)
{
	struct rlimit old, small;

	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
	small = (struct rlimit){ 300000, old.rlim_max };
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
	check_full_disk(f, limit_lift, &old);
}

static void tmpfs_grow(gpointer data)
{
	g_assert_cmpint(mount("none", data, NULL, MS_REMOUNT, "size=8m"), ==, 0);
}

static void test_a_full_disk_is_an_error(AllocationsFixture *f, gconstpointer data)
{
	AllocationsFixture full = { 0 };

	allocations_fixture_setup(&full, NULL);
	rdmad_allocations_free(full.allocations);
	rdmad_state_close(full.state);
	if (mount("none", full.dir, "tmpfs", 0, "size=512k") < 0) {
		g_test_skip("may not mount a tmpfs");
	} else {
		full.state = rdmad_state_open(full.dir, NULL, NULL);
		full.allocations =
			rdmad_allocations_new(full.loop, full.state, full.event_log, NULL);
		check_full_disk(&full, tmpfs_grow, full.dir);
		rdmad_allocations_free(full.allocations);
		rdmad_state_close(full.state);
		umount2(full.dir, MNT_DETACH);
	}
	full.state = rdmad_state_open(full.dir, NULL, NULL);
	full.allocations = rdmad_allocations_new(full.loop, full.state, full.event_log, NULL);
	allocations_fixture_teardown(&full, NULL);
}

/* ---- kill -9 ---- */

#define ID_BYTES 17

static G_GNUC_NORETURN void grant_for_ever(const char *dir, int out)
{
	AllocationsFixture f = { 0 };

	/* A fork would have the ids of the one before. */
	g_random_set_seed((guint32)getpid());
	f.loop = rdmad_loop_new();
	f.event_log = rdmad_event_log_new(f.loop);
	f.state = rdmad_state_open(dir, NULL, NULL);
	f.allocations = rdmad_allocations_new(f.loop, f.state, f.event_log, NULL);
	for (guint i = 0;; i++) {
		g_autofree char *slot = g_strdup_printf("%d-%u", getpid(), i);
		g_autofree char *id = allocations_fixture_must_grant(&f, slot);
		g_autofree char *line = g_strconcat(id, "\n", NULL);

		if (write(out, line, ID_BYTES) != ID_BYTES)
			_exit(1);
	}
}

/* Reads the acknowledged ids until the pipe ends. */
static void collect_ids(int fd, GHashTable *ids)
{
	char line[ID_BYTES];

	while (read(fd, line, ID_BYTES) == ID_BYTES)
		g_hash_table_add(ids, g_strndup(line, ID_BYTES - 1));
}

static void kill_in_the_middle(const char *dir, GHashTable *ids)
{
	int fds[2];
	pid_t pid;

	g_assert_cmpint(pipe(fds), ==, 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		/* Lines of the event log must not be in the test's output. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		grant_for_ever(dir, fds[1]);
	}
	close(fds[1]);
	g_usleep((gulong)g_test_rand_int_range(1000, 100000));
	kill(pid, SIGKILL);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	collect_ids(fds[0], ids);
	close(fds[0]);
}

static void test_kill_9_loses_no_acknowledged_allocation(AllocationsFixture *f, gconstpointer data)
{
	g_autoptr(GHashTable) ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GHashTableIter iter;
	gpointer id;

	for (guint round = 0; round < 20; round++) {
		allocations_fixture_close(f);
		kill_in_the_middle(f->dir, ids);
		allocations_fixture_open(f);
		g_hash_table_iter_init(&iter, ids);
		while (g_hash_table_iter_next(&iter, &id, NULL))
			g_assert_nonnull(rdmad_allocations_lookup(f->allocations, id));
		/* One more may have been written without an acknowledgement. */
		g_assert_cmpuint(rdmad_allocations_count(f->allocations), <=,
				 g_hash_table_size(ids) + round + 1);
	}
	g_test_message("%u acknowledged allocations", g_hash_table_size(ids));
	g_assert_cmpuint(g_hash_table_size(ids), >, 0);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/allocations/" #name, AllocationsFixture, NULL,                         \
			  allocations_fixture_setup, test_##name, allocations_fixture_teardown)

const UnitTest unit_tests[] = {
	TEST(a_grant_is_found_and_survives),
	TEST(allocations_come_oldest_first),
	TEST(the_oldest_that_is_wanted_is_found),
	TEST(each_container_that_shares_a_slot_has_its_allocation),
	TEST(no_slot_has_allocations_without_end),
	TEST(the_same_slot_of_two_resources_is_two_allocations),
	TEST(bad_grants_change_nothing),
	TEST(the_most_slots_that_are_allowed),
	TEST(an_ended_allocation_is_gone),
	TEST(attachments_are_replaced_by_name),
	TEST(bad_attachments_are_refused),
	TEST(a_watch_gets_everything_in_order),
	TEST(a_watcher_may_grant),
	TEST(a_borrowed_allocation_lasts_for_the_turn),
	TEST(what_a_module_leaves_is_reaped),
	TEST(the_event_log_has_the_changes),
	TEST(a_file_that_may_not_grow_is_an_error),
	TEST(a_full_disk_is_an_error),
	TEST(kill_9_loses_no_acknowledged_allocation),
	{ 0 },
};
