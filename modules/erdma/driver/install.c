/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/install.h"

#include <rdmad/module.h>

#include "driver/loader.h"

static gboolean has_command(char *const *command)
{
	return command && command[0];
}

static guint install_number(RdmadModule *self, const ErdmaDriverSettings *settings, GError **error)
{
	g_autofree char *lock = erdma_loader_lock(self);
	const gboolean has_package = settings->install_package && settings->install_package[0];
	const RdmadHostCommand command = {
		.kind = RDMAD_HOST_PROGRAM,
		.argv = (const char *const *)settings->install_command,
		.environment = (const char *const *)settings->install_environment,
		.package = has_package ? settings->install_package : NULL,
		.sha256 = has_package ? settings->install_sha256 : NULL,
		.cgroup = ERDMA_CGROUP,
		.lock = lock,
		.timeout_ms = settings->install_timeout_ms,
	};

	return rdmad_host_declare(rdmad_module_keeper(self), rdmad_module_sysroot(self), &command,
				  error);
}

gboolean erdma_install_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			       GError **error)
{
	return !has_command(settings->install_command) ||
	       install_number(self, settings, error) != 0;
}

RdmadHostRun *erdma_install_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				  RdmadHostDone done, gpointer data, GError **error)
{
	const guint number = install_number(self, settings, error);

	return number ? rdmad_host_start(rdmad_module_loop(self), self, rdmad_module_keeper(self),
					 number, done, data, error)
		      : NULL;
}
