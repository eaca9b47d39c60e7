/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/sysroot.h"
#include "pod.h"

static void test_sysctls_are_those_of_the_namespace(Fixture *f, gconstpointer data)
{
	const RdmadSysctl set[] = { { "net/ipv4/conf/eth0.100/arp_ignore", "1" },
				    { "net/ipv4/conf/eth0.100/arp_announce", "2" } };
	const RdmadSysctl missing[] = { { "net/ipv4/conf/eth0.100/no_such", "1" } };
	g_autofree char *inside = NULL, *unchanged = NULL;
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	expect_created(f->host_net, (RdmadLinkSpec){ .kind = "veth", .name = "eth0.100" });
	expect_created(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "eth0.100" });
	unchanged = rdmad_sysctl_read(0, set[0].name, NULL);
	g_assert_cmpstr(unchanged, ==, "0");
	g_assert_true(rdmad_sysctls_write(f->pod, set, G_N_ELEMENTS(set), &error));
	inside = rdmad_sysctl_read(f->pod, set[1].name, &error);
	g_assert_cmpstr(inside, ==, "2");
	g_free(unchanged);
	unchanged = rdmad_sysctl_read(0, set[1].name, NULL);
	g_assert_cmpstr(unchanged, ==, "0");
	g_assert_false(rdmad_sysctls_write(f->pod, missing, 1, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_sysctls_are_restored_where_they_differ(Fixture *f, gconstpointer data)
{
	const RdmadSysctl set[] = { { "net/ipv4/conf/eth0.100/no_such", "1" },
				    { "net/ipv4/conf/eth0.100/arp_ignore", "1" },
				    /* A secret that is not set cannot be read. */
				    { "net/ipv6/conf/eth0.100/stable_secret",
				      "2001:0db8:0000:0000:0000:0000:0000:0001" },
				    /* A value that cannot be written, but is set already. */
				    { "net/ipv4/conf/eth0.100/mc_forwarding", "0" } };
	g_autofree char *now = NULL;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = NULL;

	if (!f->ready)
		return;
	expect_created(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "eth0.100" });
	rdmad_sysctls_restore(f->pod, set, G_N_ELEMENTS(set), &error);
	g_assert_no_error(error);
	now = rdmad_sysctl_read(f->pod, set[1].name, &error);
	g_assert_cmpstr(now, ==, "1");
	names = rdmad_sysctls_list(f->pod, "net/ipv4/conf/eth0.100", &error);
	g_assert_no_error(error);
	g_assert_true(g_strv_contains((const char *const *)names, "arp_ignore"));
	g_assert_null(rdmad_sysctls_list(0, "net/ipv4/conf/eth0.100", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static gboolean sysfs_look(gpointer data, GError **error)
{
	g_autoptr(RdmadSysroot) sysfs = rdmad_sysroot_new_sysfs(error);

	*(gboolean *)data = sysfs && rdmad_sysroot_exists(sysfs, "class/net/only-here/mtu");
	return sysfs != NULL;
}

static void test_sysfs_shows_the_namespace_of_its_thread(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	gboolean seen = FALSE;

	if (!f->ready)
		return;
	expect_created(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "only-here" });
	rdmad_netns_call(f->pod, sysfs_look, &seen, &error);
	g_assert_no_error(error);
	g_assert_true(seen);
	sysfs_look(&seen, &error);
	g_assert_no_error(error);
	g_assert_false(seen);
	g_assert_false(g_file_test("/sys/class/net/only-here", G_FILE_TEST_EXISTS));
}

static void test_names_that_are_no_sysctl_are_refused(void)
{
	static const char *const names[] = {
		"",
		"net/",
		"net//ipv4",
		"net/../kernel/core_pattern",
		"net/./ipv4",
		"/net/ipv4",
		"kernel/core_pattern",
		"net/ipv4/conf/../../..",
		"net/ipv4/..",
		"../proc/uptime",
		"net/ipv4/ip_forward/",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		const RdmadSysctl sysctl = { names[i], "1" };
		g_autoptr(GError) error = NULL;

		g_assert_null(rdmad_sysctl_read(0, names[i], &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_clear_error(&error);
		g_assert_false(rdmad_sysctls_write(0, &sysctl, 1, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	}
}

#define TEST(name) TEST_WITH_POD("sysctls", name)

const UnitTest unit_tests[] = {
	TEST(sysctls_are_those_of_the_namespace),
	TEST(sysctls_are_restored_where_they_differ),
	TEST(sysfs_shows_the_namespace_of_its_thread),
	UNIT_TEST("/sysctls/names_that_are_no_sysctl_are_refused",
		  test_names_that_are_no_sysctl_are_refused),
	{ 0 },
};
