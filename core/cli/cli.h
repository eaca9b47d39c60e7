/* SPDX-License-Identifier: Apache-2.0 */
/* The client commands: `rdmad status` and the others. */
#pragma once

#include <glib.h>

/* TRUE when argv[1] names a client command, the core's or a module's; then `rdmad_cli_run()` does
 * all and gives the exit status. */
gboolean rdmad_cli_is_command(const char *word);
int rdmad_cli_run(int argc, char **argv);
/* Lines for `rdmad --help`. */
const char *rdmad_cli_help(void);
