/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/privileges.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <rdmad/module.h>
#include <stdio.h>

#include "base/capabilities.h"
#include "daemon/daemon.h"
#include "daemon/settings.h"
#include "module/host.h"
#include "network/keeper.h"

/* A kernel without seccomp is only logged. */
static gboolean calls_limit(RdmadPrivileges *privileges, RdmadSeccomp seccomp, GError **error)
{
	const RdmadSeccompProcess process =
		privileges->runs_programs ? RDMAD_SECCOMP_PROGRAMS : RDMAD_SECCOMP_DAEMON;
	GError *problem = NULL;

	privileges->seccomp = seccomp;
	if (rdmad_seccomp_install(seccomp, process, &problem))
		return TRUE;
	if (!g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE)) {
		g_propagate_prefixed_error(error, problem,
					   "seccomp = \"%s\": ", rdmad_seccomp_names[seccomp]);
		return FALSE;
	}
	rdmad_warn("%s", problem->message);
	g_error_free(problem);
	privileges->seccomp = RDMAD_SECCOMP_OFF;
	return TRUE;
}

gboolean rdmad_privileges_give_up(RdmadServices *services, RdmadSeccomp seccomp, GError **error)
{
	const guint64 daemon = rdmad_modules_capabilities(services->modules, FALSE);
	const guint64 executor = rdmad_modules_capabilities(services->modules, TRUE);
	RdmadPrivileges *privileges = &services->privileges;

	if (privileges->is_limited)
		return TRUE;
	privileges->executor_lacks = executor & ~rdmad_capabilities_permitted();
	if (privileges->executor_lacks) {
		g_autofree char *text = rdmad_capabilities_text(privileges->executor_lacks);

		rdmad_warn("rdmad has no %s, which its executor needs", text);
	}
	if (executor) {
		privileges->keeper = rdmad_keeper_new(executor, seccomp, error);
		if (!privileges->keeper)
			return FALSE;
	}
	privileges->capabilities = daemon;
	privileges->executor_capabilities = executor;
	privileges->runs_programs = rdmad_modules_run_programs(services->modules);
	privileges->is_limited = TRUE;
	return rdmad_capabilities_limit(daemon, error) && calls_limit(privileges, seccomp, error);
}

/* ---- printing ---- */

static void print_one(const char *module, const char *process, const RdmadCapability *capability,
		      gpointer data)
{
	g_autofree char *name =
		rdmad_capabilities_text(G_GUINT64_CONSTANT(1) << capability->capability);

	printf("%s\t%s\t%s\t%s\n", module, process, name, capability->why);
}

int rdmad_privileges_print(const RdmadOptions *options, GError **error)
{
	g_autoptr(RdmadSettings) settings = rdmad_settings_load(options, error);
	g_autoptr(RdmadServices) services = NULL;

	if (!settings)
		return rdmad_daemon_status(*error);
	services = rdmad_services_new(error);
	if (!services)
		return RDMAD_EXIT_FAILURE;
	if (!rdmad_modules_load(services->modules, settings->modules, settings->module_dir, error))
		return rdmad_daemon_status(*error);
	rdmad_modules_foreach_capability(services->modules, print_one, NULL);
	return 0;
}
