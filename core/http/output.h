/* SPDX-License-Identifier: Apache-2.0 */
/* An answer on its way: a head and a body, sent as one without being copied into one. */
#pragma once

#include <glib.h>
#include <sys/uio.h>

typedef struct {
	char *head;
	GBytes *body; /* which others may send as well; NULL: none */
	gsize head_size, body_size;
	gsize sent; /* of both */
} HttpOutput;

/* What is still to be sent, up to `max` bytes, in at most two parts; 0: nothing. */
guint http_output_rest(const HttpOutput *out, gsize max, struct iovec parts[2]);
void http_output_clear(HttpOutput *out);
