/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the text before libconfig parses it
 *
 * libconfig 1.5 silently changes numbers that are too large, takes the rest of the file for an
 * unterminated comment, and reports "syntax error" for everything else.  This pass finds and
 * explains the usual mistakes; then libconfig parses the text.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CONFIG_MAX_DEPTH	  32u
#define RDMAD_CONFIG_MAX_SETTINGS 16384u
#define RDMAD_CONFIG_MAX_INCLUDES 64u

/* `include_dir` is the directory of `@include` files, which are checked too; NULL rejects
 * `@include`.  RDMAD_ERROR_CONFIG. */
gboolean rdmad_config_scan(const char *file, const char *text, const char *include_dir,
			   GError **error);
