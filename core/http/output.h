/* SPDX-License-Identifier: Apache-2.0 */
/* A response being sent: a head and a body, sent together without a copy. */
#pragma once

#include <glib.h>
#include <sys/uio.h>

typedef struct {
	char *head;
	GBytes *body; /* which others may send as well; NULL: none */
	gsize head_size, body_size;
	gsize sent; /* of both */
} HttpOutput;

/* The unsent bytes, up to `max`, in at most two parts; 0: none. */
guint http_output_rest(const HttpOutput *out, gsize max, struct iovec parts[2]);
void http_output_clear(HttpOutput *out);
