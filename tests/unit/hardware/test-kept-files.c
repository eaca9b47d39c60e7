/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <rdmad/network.h>

#include "failing-calls.h"
#include "hardware/counters/kept-files.h"
#include "machine.h"
#include "../network/namespace.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

#define DIR "device/counters"

/* A directory of a machine in memory, with one or two files. */
typedef struct {
	TestMachine *machine;
	RdmadFileBudget *budget;
	RdmadKeptFiles kept;
} Fixture;

static void put(const Fixture *f, const char *path, const char *value)
{
	test_machine_put(f->machine, path, value, -1);
}

static void rename_in(const Fixture *f, const char *from, const char *to)
{
	g_autofree char *source = g_build_filename(f->machine->dir, from, NULL);
	g_autofree char *target = g_build_filename(f->machine->dir, to, NULL);

	g_assert_cmpint(g_rename(source, target), ==, 0);
}

static void setup(Fixture *f, gconstpointer data)
{
	f->machine = test_machine_new_empty();
	f->budget = rdmad_file_budget_new(8);
	put(f, DIR "/a", "1\n");
	test_machine_settle(f->machine, DIR);
	rdmad_kept_files_init(&f->kept, g_strdup(DIR));
	rdmad_kept_files_expect(&f->kept, 2);
}

static void teardown(Fixture *f, gconstpointer data)
{
	fault.path = NULL;
	fault.at = 0;
	rdmad_kept_files_clear(&f->kept);
	g_assert_cmpuint(rdmad_file_budget_used(f->budget), ==, 0);
	rdmad_file_budget_unref(f->budget);
	test_machine_free(f->machine);
}

/* Runs one round with one file and returns its text, or the name of the errno. */
static char *read_in(RdmadKeptFiles *kept, const RdmadSysroot *root, RdmadFileBudget *budget,
		     const char *name)
{
	int errnum = rdmad_kept_files_begin(kept, root, budget, NULL);
	char text[64];

	if (!errnum && rdmad_kept_files_read(kept, root, 0, name, text, sizeof(text)) < 0)
		errnum = errno;
	rdmad_kept_files_end(kept);
	return g_strdup(errnum ? strerrorname_np(errnum) : text);
}

static void expect(Fixture *f, const char *expected, guint kept)
{
	g_autofree char *text = read_in(&f->kept, f->machine->root, f->budget, "a");

	g_assert_cmpstr(text, ==, expected);
	g_assert_cmpuint(rdmad_file_budget_used(f->budget), ==, kept);
}

static void test_a_kept_file_has_its_present_value(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(f->machine->dir, DIR "/a", NULL);
	FILE *file;

	expect(f, "1", 1);
	file = fopen(path, "w");
	g_assert_nonnull(file);
	fputs("234567\n", file);
	fclose(file);
	fault.path = "/a"; /* it is not opened again */
	fault.errnum = EACCES;
	expect(f, "234567", 1);
	expect(f, "234567", 1);
}

static void test_a_file_in_its_place_is_noticed(Fixture *f, gconstpointer data)
{
	expect(f, "1", 1);
	put(f, "device/new", "2\n");
	rename_in(f, "device/new", DIR "/a");
	/* The directory has just changed, so nothing is kept. */
	expect(f, "2", 0);
	test_machine_settle(f->machine, DIR);
	expect(f, "2", 1);
}

static void test_a_file_that_went_is_noticed(Fixture *f, gconstpointer data)
{
	expect(f, "1", 1);
	rename_in(f, DIR "/a", "device/away");
	expect(f, "ENOENT", 0);
}

static void test_another_directory_is_noticed(Fixture *f, gconstpointer data)
{
	expect(f, "1", 1);
	put(f, "other/counters/a", "2\n");
	test_machine_settle(f->machine, "other/counters");
	rename_in(f, "device", "renamed");
	expect(f, "ENOENT", 0);
	rename_in(f, "other", "device");
	expect(f, "2", 1);
	rename_in(f, "device", "other");
	rename_in(f, "renamed", "device");
	expect(f, "1", 1);
}

/* The check of the directory is led out of the machine. */
static void test_an_absolute_link_is_below_the_root(Fixture *f, gconstpointer data)
{
	g_autofree char *link = g_build_filename(f->machine->dir, "device", NULL);

	put(f, "other/counters/a", "2\n");
	test_machine_settle(f->machine, "other/counters");
	rename_in(f, "device", "real");
	g_assert_cmpint(symlink("/real", link), ==, 0);
	expect(f, "1", 1);
	expect(f, "1", 1);
	g_assert_cmpint(unlink(link), ==, 0);
	g_assert_cmpint(symlink("/other", link), ==, 0);
	expect(f, "2", 1);
	g_assert_cmpint(unlink(link), ==, 0);
	expect(f, "ENOENT", 0);
}

static void test_another_directory_in_a_round_is_noticed(Fixture *f, gconstpointer data)
{
	RdmadKeptFiles *kept = &f->kept;
	char text[64];

	put(f, DIR "/b", "1\n");
	test_machine_settle(f->machine, DIR);
	expect(f, "1", 1);
	put(f, "other/counters/b", "2\n");
	g_assert_cmpint(rdmad_kept_files_begin(kept, f->machine->root, f->budget, NULL), ==, 0);
	rename_in(f, "device", "renamed");
	rename_in(f, "other", "device");
	g_assert_cmpint(rdmad_kept_files_read(kept, f->machine->root, 1, "b", text, sizeof(text)),
			==, -1);
	g_assert_cmpint(errno, ==, ENOENT);
	rdmad_kept_files_end(kept);
}

static void test_an_error_is_no_departure(Fixture *f, gconstpointer data)
{
	expect(f, "1", 1);
	fault.count = 0;
	fault.at = 1; /* the check of the directory opens nothing */
	fault.errnum = EIO;
	expect(f, "EIO", 1);
	fault.at = 0;
	expect(f, "1", 1);
}

static void test_an_earlier_error_is_none_of_the_file(Fixture *f, gconstpointer data)
{
	errno = ENODEV;
	expect(f, "1", 1);
}

static void test_no_more_files_than_the_budget_has(Fixture *f, gconstpointer data)
{
	RdmadKeptFiles other;
	g_autofree char *text = NULL;

	rdmad_file_budget_set_max(f->budget, 1);
	expect(f, "1", 1);
	rdmad_kept_files_init(&other, g_strdup(DIR));
	rdmad_kept_files_expect(&other, 1);
	text = read_in(&other, f->machine->root, f->budget, "a");
	g_assert_cmpstr(text, ==, "1");
	g_assert_cmpuint(rdmad_file_budget_used(f->budget), ==, 1);
	rdmad_kept_files_clear(&other);
	rdmad_file_budget_set_max(f->budget, 0);
	expect(f, "1", 0);
}

static void test_a_quarter_of_the_limit_at_most(Fixture *f, gconstpointer data)
{
	const rlim_t before = limit_descriptors(3);

	rdmad_file_budget_set_max(f->budget, 8);
	limit_descriptors(before);
	expect(f, "1", 0);
}

/* ---- the kernel's own sysfs ---- */

static void make_link(RdmadNetwork *net, const char *name)
{
	const RdmadLinkSpec spec = { .kind = "veth", .name = name, .peer = "wire" };
	g_autoptr(GError) error = NULL;

	rdmad_link_create(net, &spec, &error);
	g_assert_no_error(error);
}

static int index_of(RdmadNetwork *net, const char *name)
{
	g_autoptr(RdmadLink) link = rdmad_link_get(net, name, NULL);

	g_assert_nonnull(link);
	return link->ifindex;
}

static void remove_link(RdmadNetwork *net, const char *name)
{
	const int index = index_of(net, name);
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_links_delete(net, &index, 1, &error));
}

static void rename_link(RdmadNetwork *net, const char *from, const char *to)
{
	const RdmadLinkChange change = { .name = to };
	g_autoptr(GError) error = NULL;

	rdmad_link_change(net, index_of(net, from), &change, &error);
	g_assert_no_error(error);
}

static void expect_index(RdmadKeptFiles *kept, const RdmadSysroot *root, RdmadFileBudget *budget,
			 RdmadNetwork *net)
{
	g_autofree char *expected = g_strdup_printf("%d", index_of(net, "nic0"));
	g_autofree char *text = read_in(kept, root, budget, "ifindex");

	g_assert_cmpstr(text, ==, expected);
	g_assert_cmpuint(rdmad_file_budget_used(budget), ==, 1);
}

/* ifindex identifies the interface. */
static void test_another_device_of_the_name_is_noticed(void)
{
	g_autoptr(RdmadFileBudget) budget = rdmad_file_budget_new(8);
	g_autoptr(RdmadSysroot) root = NULL;
	RdmadNetwork *net;
	RdmadKeptFiles kept;
	char text[64];

	if (!namespace_leave_host())
		return;
	net = rdmad_network_open(0, NULL);
	root = rdmad_sysroot_new_sysfs(NULL);
	g_assert_true(net && root);
	rdmad_kept_files_init(&kept, g_strdup("class/net/nic0"));
	rdmad_kept_files_expect(&kept, 1);

	make_link(net, "nic0");
	expect_index(&kept, root, budget, net);
	expect_index(&kept, root, budget, net);
	/* Renamed, with another interface under its name. */
	rename_link(net, "wire", "end0");
	rename_link(net, "nic0", "nic1");
	make_link(net, "nic0");
	expect_index(&kept, root, budget, net);
	/* Removed and added again. */
	remove_link(net, "nic0");
	make_link(net, "nic0");
	expect_index(&kept, root, budget, net);
	/* Removed within a round. */
	g_assert_cmpint(rdmad_kept_files_begin(&kept, root, budget, NULL), ==, 0);
	remove_link(net, "nic0");
	make_link(net, "nic0");
	g_assert_cmpint(rdmad_kept_files_read(&kept, root, 0, "ifindex", text, sizeof(text)), ==,
			-1);
	g_assert_cmpint(errno, ==, ENOENT);
	rdmad_kept_files_end(&kept);
	g_assert_cmpuint(rdmad_file_budget_used(budget), ==, 0);
	expect_index(&kept, root, budget, net);

	rdmad_kept_files_clear(&kept);
	rdmad_network_close(net);
}

#define TEST(path_, function_)                                                                     \
	UNIT_FIXTURE_TEST("/kept-files/" path_, Fixture, NULL, setup, function_, teardown)

const UnitTest unit_tests[] = {
	TEST("a_kept_file_has_its_present_value", test_a_kept_file_has_its_present_value),
	TEST("a_file_in_its_place_is_noticed", test_a_file_in_its_place_is_noticed),
	TEST("a_file_that_went_is_noticed", test_a_file_that_went_is_noticed),
	TEST("another_directory_is_noticed", test_another_directory_is_noticed),
	TEST("an_absolute_link_is_below_the_root", test_an_absolute_link_is_below_the_root),
	TEST("another_directory_in_a_round_is_noticed",
	     test_another_directory_in_a_round_is_noticed),
	TEST("an_error_is_no_departure", test_an_error_is_no_departure),
	TEST("an_earlier_error_is_none_of_the_file", test_an_earlier_error_is_none_of_the_file),
	TEST("no_more_files_than_the_budget_has", test_no_more_files_than_the_budget_has),
	TEST("a_quarter_of_the_limit_at_most", test_a_quarter_of_the_limit_at_most),
	UNIT_TEST("/kept-files/another_device_of_the_name_is_noticed",
		  test_another_device_of_the_name_is_noticed),
	{ NULL },
};
