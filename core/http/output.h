/* SPDX-License-Identifier: Apache-2.0 */
/* A response being sent: a head and a body, sent together without a copy */
#pragma once

#include <glib.h>
#include <sys/uio.h>

typedef struct {
	char *head;
	GBytes *body; /* may be shared with other responses; NULL: no body */
	gsize head_size, body_size;
	gsize sent; /* bytes of head and body */
} HttpOutput;

/* Gets the unsent bytes, up to `max`.  Returns the number of parts; 0: all is sent. */
guint http_output_rest(const HttpOutput *out, gsize max, struct iovec parts[2]);
gsize http_output_unsent(const HttpOutput *out);
void http_output_clear(HttpOutput *out);
