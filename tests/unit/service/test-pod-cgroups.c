/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod-cgroups.h"

#include "allocations-fixture.h"
#include "hardware/sysroot.h"
#include "../scratch.h"
#include "../support/unit.h"

#define UID "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77aa"

typedef struct {
	AllocationsFixture base; /* first: its functions take the fixture */
	char *root;
	RdmadSysroot *sysroot;
	RdmadPodCgroups *cgroups;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	allocations_fixture_setup(&f->base, NULL);
	f->root = scratch_new();
	f->sysroot = rdmad_sysroot_new(f->root, &error);
	g_assert_no_error(error);
	f->cgroups = rdmad_pod_cgroups_new(f->sysroot, f->base.allocations);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_pod_cgroups_free(f->cgroups);
	rdmad_sysroot_free(f->sysroot);
	scratch_free(f->root);
	allocations_fixture_teardown(&f->base, NULL);
}

static void make(const Fixture *f)
{
	g_autofree char *path = g_build_filename(f->root, "pod", NULL);

	g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
}

/* The former directory stays, so that the new one has another inode. */
static void make_again(const Fixture *f)
{
	g_autofree char *path = g_build_filename(f->root, "pod", NULL);
	g_autofree char *former = g_build_filename(f->root, "former", NULL);

	g_assert_cmpint(g_rename(path, former), ==, 0);
	make(f);
}

static void test_an_ended_pod_may_have_its_uid_again(Fixture *f, gconstpointer data)
{
	make(f);
	g_assert_false(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
	rdmad_pod_cgroups_add(f->cgroups, UID, "pod", 3, 5);
	g_assert_false(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
	rdmad_pod_cgroups_end(f->cgroups, UID);
	g_assert_true(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
	g_assert_true(rdmad_pod_cgroups_has_ended(f->cgroups, UID, NULL));
	make_again(f);
	g_assert_false(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
}

static void test_a_cgroup_keeps_the_number_of_its_finding(Fixture *f, gconstpointer data)
{
	make(f);
	g_assert_cmpint(rdmad_pod_cgroups_number(f->cgroups, UID), ==, 0);
	rdmad_pod_cgroups_add(f->cgroups, UID, "pod", 3, 5);
	rdmad_pod_cgroups_add(f->cgroups, UID, "pod", 7, 8);
	g_assert_cmpint(rdmad_pod_cgroups_number(f->cgroups, UID), ==, 3);
	g_assert_cmpint(rdmad_pod_cgroups_last(f->cgroups, UID), ==, 5);
	make_again(f);
	rdmad_pod_cgroups_add(f->cgroups, UID, "pod", 7, 8);
	g_assert_cmpint(rdmad_pod_cgroups_number(f->cgroups, UID), ==, 7);
	rdmad_pod_cgroups_forget_numbers(f->cgroups, UID);
	g_assert_cmpint(rdmad_pod_cgroups_number(f->cgroups, UID), ==, 0);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/pod-cgroups/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(an_ended_pod_may_have_its_uid_again),
	TEST(a_cgroup_keeps_the_number_of_its_finding),
	{ 0 },
};
