/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that modules of the running daemon have: rdmad/module.h. */
#pragma once

#include "cli/command.h"

/* argv[1] is the command's name.  The exit status. */
int module_command_run(CommandOptions *options, int argc, char **argv);
/* rdmad commands */
int module_command_list(const CommandOptions *options);
/* The printed form of a response; `command` is an entry of /api/v1/commands. */
void module_command_write(const json_t *command, const json_t *answer, const RdmadTableStyle *style,
			  GString *out);
