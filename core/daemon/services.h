/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of the services; for the daemon and the tests only. */
#pragma once

#include "module/services.h"
#include "daemon/settings.h"

/* The loop, and what needs nothing but it.  RDMAD_ERROR_FAILED: the kernel has refused. */
RdmadServices *rdmad_services_new(GError **error);
/* The modules first, everything else in the reverse of its making. */
void rdmad_services_free(RdmadServices *services);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadServices, rdmad_services_free)

/* Makes the rest, up to where modules can be created.  `sysroot` NULL: this machine.
 * `dry`: allocations live in memory, so that nothing outside the process is touched. */
gboolean rdmad_services_open(RdmadServices *services, const RdmadSettings *settings,
			     const char *sysroot, gboolean dry, GError **error);
/* Runs the first scan and serves the control socket. */
gboolean rdmad_services_start(RdmadServices *services, GError **error);
/* Makes the control socket again where it was removed. */
gboolean rdmad_services_keep_control(RdmadServices *services, GError **error);
/* Called once modules have set their resolvers: lists podresources, if kubelet runs or the database
 * was lost. */
void rdmad_services_ask_kubelet(RdmadServices *services);
