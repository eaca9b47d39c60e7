/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP/1.1 request (RFC 9112), parsed strictly
 *
 * Input that two parsers could read differently is rejected: bare CR or LF, NUL, folded lines,
 * white space around names, repeated Content-Length or Host, any Transfer-Encoding.
 */
#pragma once

#include <glib.h>

#define RDMAD_HTTP_MAX_FIELDS 64u

typedef struct {
	const char *name, *value;
} RdmadHttpField;

typedef struct {
	char *text; /* everything below points into it */
	const char *method;
	const char *path; /* percent-decoded */
	RdmadHttpField fields[RDMAD_HTTP_MAX_FIELDS];
	guint n_fields;
	RdmadHttpField params[RDMAD_HTTP_MAX_FIELDS]; /* of the query, decoded */
	guint n_params;
	guint64 content_length;
	gboolean keep_alive;
} RdmadHttpHead;

/* Returns the length of the head with its empty line, 0 if it is incomplete, or -1 if it is
 * invalid.  `scanned` starts at 0 and records the progress of the last call. */
gssize rdmad_http_head_find(const guint8 *data, gsize size, gsize *scanned);
/* Returns 0, or the status of the error response.  `size` is the result of rdmad_http_head_find().
 * Clear the head in either case. */
guint rdmad_http_head_parse(RdmadHttpHead *head, const guint8 *data, gsize size);
void rdmad_http_head_clear(RdmadHttpHead *head);
/* Returns the first field of this name, or NULL.  Field names match case-insensitively. */
const char *rdmad_http_head_field(const RdmadHttpHead *head, const char *name);
const char *rdmad_http_head_param(const RdmadHttpHead *head, const char *name);
