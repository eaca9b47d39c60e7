/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the text before libconfig parses it, and puts included files in the place of `@include`
 *
 * libconfig 1.5 silently changes numbers that are too large, takes the rest of the file for an
 * unterminated comment, and reports "syntax error" for everything else.  This pass finds and
 * explains the usual mistakes; then libconfig parses the text.  libconfig would read an included
 * file in blocks, and each long line of it again with each block.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CONFIG_MAX_DEPTH	  32u
#define RDMAD_CONFIG_MAX_SETTINGS 16384u
#define RDMAD_CONFIG_MAX_INCLUDES 64u

#define RDMAD_CONFIG_MAX_TEXT (8u * 1024 * 1024) /* bytes with all included files */

/* A text without `@include`, which ends with a line end. */
typedef struct {
	GString *text;
	guint lines;
	GArray *parts; /* in the order of the text: lines that are together in one file */
} RdmadConfigText;

/* `include_dir` is the directory of `@include` files, which are checked too; NULL rejects
 * `@include`.  RDMAD_ERROR_CONFIG. */
RdmadConfigText *rdmad_config_scan(const char *file, const char *text, const char *include_dir,
				   GError **error);
void rdmad_config_text_free(RdmadConfigText *text);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadConfigText, rdmad_config_text_free)

/* Returns the file of a line of the text, from 1, and the number of the line in that file. */
const char *rdmad_config_text_place(const RdmadConfigText *text, guint line, guint *in_file);
