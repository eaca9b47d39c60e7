/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of the services, for the daemon and the tests */
#pragma once

#include "module/services.h"
#include "daemon/settings.h"

/* Creates the loop and the services that need only the loop.  RDMAD_ERROR_FAILED: the kernel
 * refused. */
RdmadServices *rdmad_services_new(GError **error);
/* Frees the modules first, then each service after those that use it. */
void rdmad_services_free(RdmadServices *services);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadServices, rdmad_services_free)

/* Creates the other services, so that modules can be created.  `sysroot` NULL: this machine.
 * `dry`: keeps allocations in memory, so that nothing outside the process changes. */
gboolean rdmad_services_open(RdmadServices *services, const RdmadSettings *settings,
			     const char *sysroot, gboolean dry, GError **error);
/* Runs the first scan and serves the control socket. */
gboolean rdmad_services_start(RdmadServices *services, GError **error);
/* Creates the control socket again if it was removed. */
gboolean rdmad_services_keep_control(RdmadServices *services, GError **error);
/* Call after the modules have set their resolvers: lists podresources if kubelet runs or the
 * database was lost. */
void rdmad_services_ask_kubelet(RdmadServices *services);
