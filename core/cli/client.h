/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the control socket: one request, one JSON answer.  Blocking; for the command line only. */
#pragma once

#include <jansson.h>
#include <rdmad/types.h>

#define RDMAD_CLIENT_MAX (64u << 20)

/* Sends `body` (NULL: none), and waits up to `timeout_s` for each part of the answer; new reference.
 * RDMAD_ERROR_UNAVAILABLE: rdmad is not running; RDMAD_ERROR_FAILED: it refused, or the answer is bad.
 * `refusal` (may be NULL): where the status is 409, what rdmad answers beside the error; new reference. */
json_t *rdmad_client_call(const char *socket_path, const char *method, const char *path,
			  const char *body, guint timeout_s, json_t **refusal, GError **error);
/* GETs text of no particular form: "/metrics"; g_free() */
char *rdmad_client_text(const char *socket_path, const char *path, guint timeout_s, GError **error);
/* The body of a whole answer, or why there is none; `size` bytes of `answer`. */
json_t *rdmad_client_parse(const char *answer, gsize size, json_t **refusal, GError **error);
