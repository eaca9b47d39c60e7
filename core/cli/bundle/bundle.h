/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad doctor --bundle: one file with all that support asks for. */
#pragma once

#include "cli/command.h"

/* The exit status.  Missing files, and answers missing while rdmad does not run, are listed in it. */
int bundle_write(const CommandOptions *options);
/* A copy of a configuration's text without passwords; g_free() */
char *bundle_redact(const char *text);
