/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's life cycle.  Each function returns the exit status and sets `error` if it is not
 * 0. */
#pragma once

#include "daemon/options.h"
#include "daemon/settings.h"

#define RDMAD_EXIT_FAILURE                                                                         \
	1 /* a failure of the system, the hardware or another rdmad: a retry may succeed */
#define RDMAD_EXIT_CONFIG                                                                          \
	2 /* invalid usage, configuration or modules: the service manager must not retry */

/* Returns the exit status for an error of the options, the settings or a module. */
int rdmad_daemon_status(const GError *error);

/* Runs until SIGTERM or SIGINT, or until a successor has taken over.  Call once in a process. */
int rdmad_daemon_run(const RdmadOptions *options, GError **error);
/* Reads the configuration and creates the modules, without side effects; prints the result on
 * stdout. */
int rdmad_daemon_check(const RdmadOptions *options, GError **error);
/* Does the same before taking over from a running rdmad, and rehearses the start of the database
 * and the modules; prints nothing. */
int rdmad_daemon_rehearse(RdmadSettings *settings, const RdmadOptions *options, GError **error);
/* Prints the configuration on stdout. */
int rdmad_daemon_print_config(const RdmadOptions *options, GError **error);
