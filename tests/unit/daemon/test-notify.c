/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/fd.h>
#include <string.h>

#include "base/unix-socket.h"
#include "daemon/notify.h"
#include "../scratch.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

/* Plays the service manager.  `name` begins with "@" in the abstract namespace. */
static int manager_new(const char *name)
{
	g_auto(RdmadUnixAddress) address = RDMAD_UNIX_NO_ADDRESS;
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	g_assert_true(rdmad_unix_address_init(&address, name, NULL));
	g_assert_cmpint(bind(fd, (struct sockaddr *)&address.un, address.size), ==, 0);
	g_setenv("NOTIFY_SOCKET", name, TRUE);
	return fd;
}

static void assert_told(int fd, const char *expected)
{
	char text[1024] = "";

	g_assert_cmpint(recv(fd, text, sizeof(text) - 1, 0), >, 0);
	g_assert_cmpstr(text, ==, expected);
}

static void test_notices_reach_a_socket_with_a_path(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *path = g_build_filename(dir, "notify", NULL);
	rdmad_autofd int fd = manager_new(path);
	g_autoptr(RdmadNotify) notify = rdmad_notify_new();

	rdmad_notify_send(notify, "READY=1");
	assert_told(fd, "READY=1");
	rdmad_notify_status(notify, "two\nREADY=1 %d", 5);
	assert_told(fd, "STATUS=two READY=1 5");
}

static void test_notices_reach_a_socket_with_a_long_path(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *name = g_strnfill(80, 'n');
	g_autofree char *path = g_build_filename(dir, name, "notify-with-a-name-of-its-own", NULL);
	g_autofree char *parent = g_path_get_dirname(path);
	RdmadNotify *notify;
	int fd;

	g_assert_cmpuint(strlen(path), >, 107);
	g_assert_cmpint(g_mkdir(parent, 0700), ==, 0);
	fd = manager_new(path);
	notify = rdmad_notify_new();
	rdmad_notify_send(notify, "READY=1");
	assert_told(fd, "READY=1");
	rdmad_notify_free(notify);
	close(fd);
}

static void test_notices_reach_an_abstract_socket(void)
{
	g_autofree char *name = g_strdup_printf("@rdmad-test-%d", (int)getpid());
	rdmad_autofd int fd = manager_new(name);
	g_autoptr(RdmadNotify) notify = rdmad_notify_new();
	char text[128] = "";
	gint64 then;

	rdmad_notify_reloading(notify);
	g_assert_cmpint(recv(fd, text, sizeof(text) - 1, 0), >, 0);
	g_assert_true(g_str_has_prefix(text, "RELOADING=1\nMONOTONIC_USEC="));
	then = g_ascii_strtoll(strrchr(text, '=') + 1, NULL, 10);
	g_assert_cmpint(g_get_monotonic_time() - then, >=, 0);
	g_assert_cmpint(g_get_monotonic_time() - then, <, 60 * G_USEC_PER_SEC);
}

static void test_children_do_not_get_the_variables(void)
{
	g_setenv("NOTIFY_SOCKET", "/nowhere", TRUE);
	g_setenv("WATCHDOG_USEC", "1000000", TRUE);
	g_setenv("WATCHDOG_PID", "1", TRUE);
	rdmad_notify_free(rdmad_notify_new());
	g_assert_null(g_getenv("NOTIFY_SOCKET"));
	g_assert_null(g_getenv("WATCHDOG_USEC"));
	g_assert_null(g_getenv("WATCHDOG_PID"));
}

static void test_without_a_manager_nothing_happens(void)
{
	static const struct {
		const char *socket;
		guint descriptors; /* number of descriptors that a notifier of this socket has */
	} cases[] = {
		{ NULL, 0 }, { "", 0 },		 { "relative", 0 },	   { "@", 0 },
		{ "/", 0 },  { "vsock:1:2", 0 }, { "/nowhere/at/all", 1 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const guint before = count_descriptors();
		RdmadNotify *notify;

		if (cases[i].socket)
			g_setenv("NOTIFY_SOCKET", cases[i].socket, TRUE);
		notify = rdmad_notify_new();
		g_assert_cmpuint(count_descriptors() - before, ==, cases[i].descriptors);
		rdmad_notify_send(notify, "READY=1");
		g_assert_cmpuint(rdmad_notify_watchdog_ms(notify), ==, 0);
		rdmad_notify_free(notify);
		g_assert_cmpuint(count_descriptors(), ==, before);
	}
}

static const struct {
	const char *usec, *pid; /* "self": our own */
	guint expected_ms;
} watchdogs[] = {
	{ "30000000", "self", 15000 },
	{ "30000000", NULL, 15000 },
	{ "30000000", "1", 0 },
	{ "30000000", "junk", 0 },
	{ "1", "self", 1 },
	{ "0", "self", 0 },
	{ "-5", "self", 0 },
	{ "99999999999999999999", "self", 0 },
	{ NULL, "self", 0 },
};

static void test_the_watchdog_is_fed_at_half_its_time_if_it_is_ours(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(watchdogs); i++) {
		g_autofree char *self = g_strdup_printf("%d", (int)getpid());
		g_autoptr(RdmadNotify) notify = NULL;

		g_setenv("NOTIFY_SOCKET", "/nowhere", TRUE);
		if (watchdogs[i].usec)
			g_setenv("WATCHDOG_USEC", watchdogs[i].usec, TRUE);
		if (watchdogs[i].pid)
			g_setenv("WATCHDOG_PID",
				 strcmp(watchdogs[i].pid, "self") ? watchdogs[i].pid : self, TRUE);
		notify = rdmad_notify_new();
		g_assert_cmpuint(rdmad_notify_watchdog_ms(notify), ==, watchdogs[i].expected_ms);
	}
}

#define TEST(name) UNIT_TEST("/notify/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(notices_reach_a_socket_with_a_path),
	TEST(notices_reach_a_socket_with_a_long_path),
	TEST(notices_reach_an_abstract_socket),
	TEST(children_do_not_get_the_variables),
	TEST(without_a_manager_nothing_happens),
	TEST(the_watchdog_is_fed_at_half_its_time_if_it_is_ours),
	{ 0 },
};
