/* SPDX-License-Identifier: Apache-2.0 */
/* The client commands, such as `rdmad status` */
#pragma once

#include <glib.h>

/* Returns TRUE if `word` (argv[1]) names a client command of the core or a module.  Then
 * `rdmad_cli_run()` executes it and returns the exit status. */
gboolean rdmad_cli_is_command(const char *word);
int rdmad_cli_run(int argc, char **argv);
/* Returns the lines for `rdmad --help`. */
const char *rdmad_cli_help(void);
