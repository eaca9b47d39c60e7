/* SPDX-License-Identifier: Apache-2.0 */
/* --check, --print-config and the rehearsal of a start; none of them changes anything */
#include "daemon/daemon.h"

#include <jansson.h>
#include <stdio.h>

#include "base/terminal.h"
#include "cli/client.h"
#include "module/host.h"
#include "daemon/services.h"
#include "daemon/settings.h"
#include "hardware/scan/scan.h"
#include "http/http.h"
#include "service/inventory-private.h"
#include "service/state.h"

#define ANSWER_S 2u /* a running rdmad that hangs must not prevent its replacement */

static void check_say_good(const RdmadSettings *settings, const RdmadModules *modules)
{
	g_autofree char *path = rdmad_text_escape(settings->path ?: "no file");

	printf("configuration OK (%s; modules:", path);
	for (guint i = 0; i < rdmad_modules_count(modules); i++) {
		RdmadModuleInfo info;

		rdmad_modules_info(modules, i, &info);
		printf(" %s%s", info.name, info.error ? " (optional, failed)" : "");
	}
	printf(")\n");
}

static void check_warn(const char *text, gpointer data)
{
	rdmad_terminal_error("warning: %s", text);
}

/* A file may be for other machines, so hardware that this one lacks is a warning. */
static void check_machine(RdmadServices *services)
{
	g_autoptr(RdmadScan) scan = rdmad_scan_sysfs(services->sysroot, NULL);

	if (!scan || scan->devices->len == 0)
		return;
	rdmad_inventory_replace(services->inventory, g_steal_pointer(&scan->devices),
				g_steal_pointer(&scan->gpus));
	rdmad_modules_check(services->modules, check_warn, NULL);
}

static int check_create(RdmadServices *services, const RdmadSettings *settings, const char *sysroot,
			GError **error)
{
	if (!services || !rdmad_services_open(services, settings, sysroot, TRUE, error))
		return RDMAD_EXIT_FAILURE;
	if (!rdmad_modules_create_all(services->modules, settings->modules, settings->module_dir,
				      error))
		return rdmad_daemon_status(*error);
	return 0;
}

int rdmad_daemon_check(const RdmadOptions *options, GError **error)
{
	g_autoptr(RdmadSettings) settings = rdmad_settings_load(options, error);
	g_autoptr(RdmadServices) services = NULL;
	int status;

	if (!settings)
		return rdmad_daemon_status(*error);
	/* The additions of devices are not news here. */
	settings->log_level = MIN(settings->log_level, RDMAD_LOG_WARNING);
	rdmad_settings_apply_log(settings);
	services = rdmad_services_new(error);
	status = check_create(services, settings, options->sysroot, error);
	if (status)
		return status;
	check_machine(services);
	check_say_good(settings, services->modules);
	return 0;
}

/* Returns the addresses at which the running rdmad listens, or NULL if it does not answer. */
static char **predecessor_addresses(const RdmadSettings *settings)
{
	g_autofree char *socket = g_build_filename(settings->run_dir, "rdmad.sock", NULL);
	g_autoptr(GStrvBuilder) addresses = g_strv_builder_new();
	json_t *status =
		rdmad_client_call(socket, "GET", "/api/v1/status", NULL, ANSWER_S, NULL, NULL);
	const json_t *listener;
	size_t i;

	if (!status)
		return NULL;
	json_array_foreach(json_object_get(status, "listeners"), i, listener)
	{
		g_strv_builder_add(addresses,
				   json_string_value(json_object_get(listener, "address")));
	}
	json_decref(status);
	return g_strv_builder_end(addresses);
}

static gboolean rehearse_start(RdmadServices *services, const RdmadSettings *settings,
			       GError **error)
{
	char **addresses;

	if (settings->state_dir && !rdmad_state_rehearse(settings->state_dir, error))
		return FALSE;
	addresses = predecessor_addresses(settings);
	/* Without an answer the ports of the running rdmad are unknown. */
	if (!addresses)
		return TRUE;
	rdmad_http_set_predecessor(services->http, addresses);
	return rdmad_modules_rehearse(services->modules, error);
}

int rdmad_daemon_rehearse(RdmadSettings *settings, const RdmadOptions *options, GError **error)
{
	const RdmadLogLevel level = settings->log_level;
	g_autoptr(RdmadServices) services = NULL;
	int status;

	/* The start itself will log the messages of the modules. */
	settings->log_level = MIN(level, RDMAD_LOG_ERR);
	rdmad_settings_apply_log(settings);
	services = rdmad_services_new(error);
	status = check_create(services, settings, options->sysroot, error);
	if (!status && !rehearse_start(services, settings, error))
		status = rdmad_daemon_status(*error);
	settings->log_level = level;
	rdmad_settings_apply_log(settings);
	return status;
}

int rdmad_daemon_print_config(const RdmadOptions *options, GError **error)
{
	g_autoptr(RdmadSettings) settings = rdmad_settings_load(options, error);
	g_autofree char *text = NULL, *path = NULL, *in_effect = NULL, *shown = NULL;

	if (!settings)
		return rdmad_daemon_status(*error);
	text = rdmad_config_print(settings->config);
	path = rdmad_text_escape(settings->path ?: "no file: every key at its default");
	in_effect = g_strdup_printf("run_dir %s, state_dir %s, module_dir %s, kubelet.root_dir %s",
				    settings->run_dir, settings->state_dir ?: "(none)",
				    settings->module_dir, settings->kubelet_dir);
	shown = rdmad_text_escape(in_effect);
	printf("# %s\n# in effect: %s\n%s", path, shown, text);
	return 0;
}
