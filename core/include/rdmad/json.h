/* SPDX-License-Identifier: Apache-2.0 */
/* JSON from outside, and JSON as text */
#pragma once

#include <rdmad/types.h>

/*
 * The value that `text` is as a whole, a reference of the caller's own.  Duplicate keys, NUL bytes,
 * invalid UTF-8 and nesting below `depth` levels are refused: RDMAD_ERROR_INVALID "byte N: ...".
 */
RDMAD_API struct json_t *rdmad_json_parse(const char *text, gsize length, guint depth,
					  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Returns a string, with U+FFFD for invalid UTF-8, which the kernel's names and errors may contain.
 * NULL: returns null. */
RDMAD_API struct json_t *rdmad_json_string(const char *text) G_GNUC_WARN_UNUSED_RESULT;

/* Takes the reference `json` (may be NULL) over.  Returns its text, which g_free() frees, or NULL if it
 * cannot be written; `flags` are those of json_dumps(). */
RDMAD_API char *rdmad_json_dump(struct json_t *json, gsize flags) G_GNUC_WARN_UNUSED_RESULT;
