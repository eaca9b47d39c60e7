/* SPDX-License-Identifier: Apache-2.0 */
/* Privileges: the capabilities that the loaded modules declare; all others are given up. */
#pragma once

#include "daemon/options.h"
#include "daemon/services.h"

/* Starts the keeper of executors if a module needs one, and gives up all that no module needs: capabilities, and
 * system calls as `seccomp` has it.  The modules are loaded, and there is no thread yet. */
gboolean rdmad_privileges_give_up(RdmadServices *services, RdmadSeccomp seccomp, GError **error);
/* --privileges: prints the table of the modules that the options or the configuration name. */
int rdmad_privileges_print(const RdmadOptions *options, GError **error);
