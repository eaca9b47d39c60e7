/* SPDX-License-Identifier: Apache-2.0 */
/* Install: the configured installer, with the package that it gets, in a cgroup of its own. */
#pragma once

#include "driver/driver-settings.h"
#include "driver/program.h"

#define ERDMA_PACKAGE_MAX (64u * 1024 * 1024)

typedef struct ErdmaInstall ErdmaInstall;

/* `done` as of a program; RDMAD_ERROR_INVALID: the package has another checksum.  The handle is valid
 * until then or erdma_install_cancel().  All of `settings` that is needed is copied. */
ErdmaInstall *erdma_install_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				  ErdmaProgramDone done, gpointer data, GError **error);
/* NULL is fine. */
void erdma_install_cancel(ErdmaInstall *install);
