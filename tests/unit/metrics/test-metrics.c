/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <rdmad/config.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/http.h>
#include <rdmad/module.h>
#include <string.h>
#include <sys/socket.h>

#include "../scratch.h"
#include "../support/unit.h"
#include "daemon/services.h"
#include "module/module.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

extern const RdmadModuleClass rdmad_module_class;

typedef struct {
	char *dir;
	RdmadSettings *settings;
	RdmadServices *services;
	RdmadModule *module;
	guint16 ports[2];
	int held[2]; /* sockets that listen at the ports; -1: the port is free */
} Fixture;

static struct sockaddr_in local(guint16 port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

/* Returns a socket that listens at a free port. */
static int occupy(guint16 *port)
{
	struct sockaddr_in address = local(0);
	socklen_t size = sizeof(address);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(bind(fd, (const struct sockaddr *)&address, size), ==, 0);
	g_assert_cmpint(listen(fd, 1), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&address, &size), ==, 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static gboolean is_open(guint16 port)
{
	const struct sockaddr_in address = local(port);
	rdmad_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static void setup(Fixture *f, gconstpointer data)
{
	char *dir = scratch_new();
	g_autofree char *path = scratch_write(dir, "rdmad.conf", "modules = { metrics = { }; };");
	const char *argv[] = {
		"rdmad", "--config", path, "--run-dir", dir, "--state-dir", dir, NULL
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadOptions) options =
		rdmad_options_new(G_N_ELEMENTS(argv) - 1, (char **)argv, &error);

	f->dir = dir;
	f->settings = rdmad_settings_load(options, &error);
	g_assert_no_error(error);
	f->services = rdmad_services_new(&error);
	g_assert_no_error(error);
	rdmad_services_open(f->services, f->settings, f->dir, TRUE, &error);
	g_assert_no_error(error);
	f->module = rdmad_module_new(f->services, &rdmad_module_class);
	for (guint i = 0; i < 2; i++)
		f->held[i] = occupy(&f->ports[i]);
}

static void teardown(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 2; i++)
		rdmad_clear_fd(&f->held[i]);
	rdmad_module_stop(f->module);
	g_assert_cmpuint(rdmad_module_free(f->module), ==, 0);
	rdmad_services_free(f->services);
	rdmad_settings_free(f->settings);
	scratch_free(f->dir);
}

static RdmadConfig *config_new(guint16 port, gboolean page)
{
	g_autofree char *text =
		g_strdup_printf("metrics = { listen = \"127.0.0.1:%u\"; page = %s; };", port,
				page ? "true" : "false");
	g_autoptr(GError) error = NULL;
	RdmadConfig *config = rdmad_config_load_text("test.conf", text, strlen(text), &error);

	g_assert_no_error(error);
	return config;
}

static gboolean reload(Fixture *f, guint16 port, gboolean page, GError **error)
{
	g_autoptr(RdmadConfig) config = config_new(port, page);

	return rdmad_module_reload(f->module,
				   rdmad_config_child(rdmad_config_root(config), "metrics"), error);
}

/* Starts the module at the first port. */
static void start(Fixture *f, gboolean page)
{
	g_autoptr(RdmadConfig) config = config_new(f->ports[0], page);
	g_autoptr(GError) error = NULL;

	rdmad_clear_fd(&f->held[0]);
	rdmad_module_create(f->module, rdmad_config_child(rdmad_config_root(config), "metrics"),
			    &error);
	g_assert_no_error(error);
	rdmad_module_start(f->module, &error);
	g_assert_no_error(error);
}

static void no_answer(RdmadHttpRequest *request, gpointer data)
{
	rdmad_http_fail(request, 404, "not the page");
}

/* Returns whether another module can have the page's route, which this function then releases. */
static gboolean route_is_free(Fixture *f)
{
	if (!rdmad_http_route(f->services->http, SOME_MODULE, "GET", "/", RDMAD_HTTP_LOCAL,
			      no_answer, NULL, NULL))
		return FALSE;
	rdmad_http_unroute(f->services->http, "GET", "/");
	return TRUE;
}

static void test_a_page_that_cannot_be_served_changes_no_listener(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	start(f, FALSE);
	rdmad_clear_fd(&f->held[1]);
	g_assert_true(rdmad_http_route(f->services->http, SOME_MODULE, "GET", "/", RDMAD_HTTP_LOCAL,
				       no_answer, NULL, NULL));
	g_assert_false(reload(f, f->ports[1], TRUE, &error));
	g_assert_nonnull(error);
	g_assert_true(is_open(f->ports[0]));
	g_assert_false(is_open(f->ports[1]));
	rdmad_http_unroute(f->services->http, "GET", "/");
}

static void test_a_listener_that_cannot_be_opened_changes_no_page(Fixture *f, gconstpointer data)
{
	const gboolean before = GPOINTER_TO_INT(data);
	g_autoptr(GError) error = NULL;

	start(f, before);
	g_assert_false(reload(f, f->ports[1], !before, &error));
	g_assert_nonnull(error);
	g_assert_true(is_open(f->ports[0]));
	g_assert_true(route_is_free(f) == !before);
}

static void test_a_reload_follows_all(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	start(f, FALSE);
	rdmad_clear_fd(&f->held[1]);
	for (guint i = 0; i < 2; i++) {
		const gboolean page = i == 0;

		g_assert_true(reload(f, f->ports[page], page, &error));
		g_assert_no_error(error);
		g_assert_true(is_open(f->ports[page]));
		g_assert_false(is_open(f->ports[!page]));
		g_assert_true(route_is_free(f) == !page);
	}
}

#define TEST(name, argument, function)                                                             \
	UNIT_FIXTURE_TEST("/metrics/reload/" name, Fixture, argument, setup, function, teardown)

const UnitTest unit_tests[] = {
	TEST("page", NULL, test_a_page_that_cannot_be_served_changes_no_listener),
	TEST("listener/page-off", GINT_TO_POINTER(FALSE),
	     test_a_listener_that_cannot_be_opened_changes_no_page),
	TEST("listener/page-on", GINT_TO_POINTER(TRUE),
	     test_a_listener_that_cannot_be_opened_changes_no_page),
	TEST("all", NULL, test_a_reload_follows_all),
	{ 0 },
};
