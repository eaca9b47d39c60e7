/* SPDX-License-Identifier: Apache-2.0 */
/* Install: runs the configured installer, with its package as input, in a cgroup of its own. */
#pragma once

#include <rdmad/host-command.h>

#include "driver/driver-settings.h"

/* Returns TRUE if there is no installer. */
gboolean erdma_install_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			       GError **error);
/* Works as rdmad_host_start().  RDMAD_ERROR_INVALID: the package has another checksum. */
RdmadHostRun *erdma_install_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				  RdmadHostDone done, gpointer data, GError **error);
