/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look over the text before libconfig has it
 *
 * libconfig 1.5 takes numbers that do not fit for others, a comment without an end for the rest of
 * the file, and says "syntax error" to everything else.  This pass finds the usual mistakes first
 * and explains them; what it lets through libconfig still judges.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CONFIG_MAX_DEPTH	  32u
#define RDMAD_CONFIG_MAX_SETTINGS 16384u
#define RDMAD_CONFIG_MAX_INCLUDES 64u

/* `include_dir`: where `@include` looks, scanned too; NULL refuses it.  RDMAD_ERROR_CONFIG. */
gboolean rdmad_config_scan(const char *file, const char *text, const char *include_dir,
			   GError **error);
