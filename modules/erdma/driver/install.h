/* SPDX-License-Identifier: Apache-2.0 */
/* Install: the configured installer, with the package that it gets, in a cgroup of its own. */
#pragma once

#include <rdmad/host-command.h>

#include "driver/driver-settings.h"

/* TRUE also where there is none. */
gboolean erdma_install_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			       GError **error);
/* As rdmad_host_start(); RDMAD_ERROR_INVALID: the package has another checksum. */
RdmadHostRun *erdma_install_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				  RdmadHostDone done, gpointer data, GError **error);
