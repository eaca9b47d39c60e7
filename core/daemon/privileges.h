/* SPDX-License-Identifier: Apache-2.0 */
/* Privileges: keeps the capabilities that the loaded modules declare, and drops all others */
#pragma once

#include "daemon/options.h"
#include "daemon/services.h"

/* Starts the keeper of executors if a module needs one, then drops the capabilities that no
 * module needs and limits system calls by `seccomp`.  Call after loading the modules and before
 * starting threads.  Does nothing in a further life of the process. */
gboolean rdmad_privileges_give_up(RdmadServices *services, RdmadSeccomp seccomp, GError **error);
/* --privileges: prints the table for the modules that the options or the configuration name. */
int rdmad_privileges_print(const RdmadOptions *options, GError **error);
