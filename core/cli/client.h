/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking client of the control socket, for the command line: one request, one JSON response */
#pragma once

#include <jansson.h>
#include <rdmad/types.h>

#define RDMAD_CLIENT_MAX (64u << 20)

/* Sends `body` (may be NULL), and waits up to `timeout_s` for each part of the response.
 * Returns a new reference.  RDMAD_ERROR_UNAVAILABLE: rdmad is not running; RDMAD_ERROR_FAILED:
 * an error response, or a malformed one.  `refusal` (may be NULL) gets a new reference to the
 * body of a response 409. */
json_t *rdmad_client_call(const char *socket_path, const char *method, const char *path,
			  const char *body, guint timeout_s, json_t **refusal, GError **error);
/* GETs plain text, such as "/metrics"; g_free() */
char *rdmad_client_text(const char *socket_path, const char *path, guint timeout_s, GError **error);
/* Parses a complete response of `size` bytes and returns its body. */
json_t *rdmad_client_parse(const char *answer, gsize size, json_t **refusal, GError **error);
