/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /livez, /readyz, /healthz: whether rdmad runs, and whether it can do its work
 *
 * The format is that of Kubernetes' components: "ok", or, with ?verbose or after a failure, a line
 * for each check; ?exclude=NAME ignores a check; ?instance=NAME fails if rdmad is of another
 * instance: the probe of a pod that waits for the node reaches the rdmad that serves.  /healthz is
 * the older name of /livez: a probe that restarts rdmad must not fail because kubelet is away.
 */
#include <rdmad/allocations.h>

#include "module/host.h"
#include "service/scanner.h"
#include "api/json.h"
#include "http/server.h"
#include "service/allocations-private.h"

typedef struct {
	const RdmadHttpRequest *request;
	GString *lines;
	gboolean failed;
} Health;

static gboolean is_excluded(const RdmadHttpRequest *request, const char *name)
{
	for (guint i = 0; i < request->head.n_params; i++)
		if (g_str_equal(request->head.params[i].name, "exclude") &&
		    g_str_equal(request->head.params[i].value, name))
			return TRUE;
	return FALSE;
}

/* Replaces control characters, to keep a module's text on one line. */
static void append_text(GString *lines, const char *text)
{
	for (const char *c = text; *c; c++)
		g_string_append_c(lines, g_ascii_iscntrl(*c) ? ' ' : *c);
}

/* `why` NULL: the check passed. */
static void health_add(Health *health, const char *name, const char *why)
{
	const gboolean excluded = is_excluded(health->request, name);

	if (excluded || !why) {
		g_string_append_printf(health->lines, "[+]%s %s\n", name,
				       excluded ? "excluded: ok" : "ok");
		return;
	}
	health->failed = TRUE;
	g_string_append_printf(health->lines, "[-]%s failed: ", name);
	append_text(health->lines, why);
	g_string_append_c(health->lines, '\n');
}

/* Adds a passed check with a note, which may be NULL. */
static void health_add_note(Health *health, const char *name, const char *note)
{
	if (!note) {
		health_add(health, name, NULL);
		return;
	}
	g_string_append_printf(health->lines, "[+]%s ok, but ", name);
	append_text(health->lines, note);
	g_string_append_c(health->lines, '\n');
}

static void add_config(Health *health, const RdmadServices *services)
{
	g_autofree char *note = services->config_error ? g_strdup_printf("the old one stays: %s",
									 services->config_error)
						       : NULL;

	health_add_note(health, "config", note);
}

static void add_module(Health *health, const RdmadModules *modules, guint index)
{
	RdmadModuleInfo info;
	g_autofree char *why = NULL;
	const gboolean ready = rdmad_modules_ready(modules, index, &why);

	rdmad_modules_info(modules, index, &info);
	/* rdmad works without an optional module. */
	if (info.optional && info.state == RDMAD_MODULE_FAILED)
		health_add_note(health, info.name, why);
	else
		health_add(health, info.name, ready ? NULL : why);
}

static void add_instance(Health *health, const RdmadServices *services)
{
	const char *name = rdmad_http_request_query(health->request, "instance");
	g_autofree char *why = NULL;

	if (name && g_strcmp0(name, services->instance))
		why = g_strdup_printf("the rdmad of this node is instance %s, not %s",
				      services->instance, name);
	health_add(health, "instance", why);
}

static void add_checks(Health *health, const RdmadServices *services)
{
	add_instance(health, services);
	health_add(health, "hardware", rdmad_hardware_problem(services->hardware));
	health_add(health, "run-dir", services->run_dir_problem);
	health_add(health, "state", rdmad_allocations_problem(services->allocations));
	add_config(health, services);
	for (guint i = 0; i < rdmad_modules_count(services->modules); i++)
		add_module(health, services->modules, i);
	health_add(health, "shutdown", services->stopping ? "rdmad is stopping" : NULL);
}

static void health_reply(RdmadHttpRequest *request, const Health *health, const char *what)
{
	if (!health->failed && !rdmad_http_request_query(request, "verbose")) {
		rdmad_http_reply(request, 200, "text/plain; charset=utf-8", "ok", 2);
		return;
	}
	g_string_append_printf(health->lines, "%s check %s\n", what,
			       health->failed ? "failed" : "passed");
	rdmad_http_reply(request, health->failed ? 503 : 200, "text/plain; charset=utf-8",
			 health->lines->str, health->lines->len);
}

/* The response itself is the proof. */
void api_get_livez(RdmadHttpRequest *request, gpointer data)
{
	g_autoptr(GString) lines = g_string_new(NULL);
	Health health = { request, lines, FALSE };

	health_add(&health, "ping", NULL);
	health_reply(request, &health, rdmad_http_request_path(request) + 1);
}

void api_get_readyz(RdmadHttpRequest *request, gpointer data)
{
	g_autoptr(GString) lines = g_string_new(NULL);
	Health health = { request, lines, FALSE };

	health_add(&health, "ping", NULL);
	add_checks(&health, data);
	health_reply(request, &health, "readyz");
}
