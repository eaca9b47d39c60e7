/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's life.  All give the exit status, and set `error` where it is not 0. */
#pragma once

#include "daemon/options.h"
#include "daemon/settings.h"

#define RDMAD_EXIT_FAILURE 1 /* the system, the hardware, another rdmad: the next try may succeed */
#define RDMAD_EXIT_CONFIG  2 /* usage, configuration, modules: the service manager tries no more */

/* The status of an error of the options, the settings or a module. */
int rdmad_daemon_status(const GError *error);

/* Runs until SIGTERM or SIGINT.  Call once in a process. */
int rdmad_daemon_run(const RdmadOptions *options, GError **error);
/* Reads the configuration and creates the modules, but touches nothing; prints the result on
 * stdout. */
int rdmad_daemon_check(const RdmadOptions *options, GError **error);
/* The same for a start in the place of another rdmad, which serves until this one can; prints nothing. */
int rdmad_daemon_rehearse(RdmadSettings *settings, const RdmadOptions *options, GError **error);
/* Prints the configuration on stdout. */
int rdmad_daemon_print_config(const RdmadOptions *options, GError **error);
