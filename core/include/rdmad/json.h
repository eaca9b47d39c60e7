/* SPDX-License-Identifier: Apache-2.0 */
/* JSON from outside, and strings of JSON that is written as text */
#pragma once

#include <rdmad/types.h>

/*
 * The value that `text` is as a whole, a reference of the caller's own.  Duplicate keys, NUL bytes,
 * invalid UTF-8 and nesting below `depth` levels are refused: RDMAD_ERROR_INVALID "byte N: ...".
 */
RDMAD_API struct json_t *rdmad_json_parse(const char *text, gsize length, guint depth,
					  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Appends `text` as a string of JSON, with its quotes; invalid UTF-8 is replaced.  Each Allocate writes its
 * two texts in this way, because a tree and its text were a quarter of the instructions. */
RDMAD_API void rdmad_json_append_string(GString *out, const char *text);
