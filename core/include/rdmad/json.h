/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of outside input, and JSON as text */
#pragma once

#include <rdmad/types.h>

/*
 * Parses the whole `text`, any JSON value, and returns a reference.  RDMAD_ERROR_INVALID "byte N:
 * ...": a syntax error, a duplicate key, a NUL byte, invalid UTF-8, or more than `depth` levels.
 */
RDMAD_API struct json_t *rdmad_json_parse(const char *text, gsize length, guint depth,
					  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Returns a JSON string, with U+FFFD for invalid UTF-8, which names and errors of the kernel may
 * contain, or null if `text` is NULL. */
RDMAD_API struct json_t *rdmad_json_string(const char *text) G_GNUC_WARN_UNUSED_RESULT;

/* Takes the reference `json` (may be NULL) over, and returns its text, g_free(), or NULL if it
 * cannot be encoded.  `flags` are those of json_dumps(). */
RDMAD_API char *rdmad_json_dump(struct json_t *json, gsize flags) G_GNUC_WARN_UNUSED_RESULT;
