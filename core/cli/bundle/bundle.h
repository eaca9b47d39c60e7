/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad doctor --bundle: one file with all that support asks for. */
#pragma once

#include "cli/command.h"

/* The exit status.  What cannot be had, also rdmad's answers while it does not run, is listed in it. */
int bundle_write(const CommandOptions *options);
/* A copy of a configuration's text without passwords; g_free() */
char *bundle_redact(const char *text);
