/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check of the text before libconfig parses it
 *
 * libconfig 1.5 reads numbers that do not fit as others, a comment without an end as the rest of
 * the file, and reports "syntax error" for everything else.  This pass finds the usual mistakes
 * first and explains them; libconfig then parses the text.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CONFIG_MAX_DEPTH	  32u
#define RDMAD_CONFIG_MAX_SETTINGS 16384u
#define RDMAD_CONFIG_MAX_INCLUDES 64u

/* `include_dir`: directory of `@include` files, which are checked too; NULL refuses them.
 * RDMAD_ERROR_CONFIG. */
gboolean rdmad_config_scan(const char *file, const char *text, const char *include_dir,
			   GError **error);
