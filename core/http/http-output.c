/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http-output.h"

static guint add_rest(struct iovec *part, char *data, gsize size, gsize sent)
{
	if (sent >= size)
		return 0;
	*part = (struct iovec){ data + sent, size - sent };
	return 1;
}

guint http_output_rest(const HttpOutput *out, struct iovec parts[2])
{
	const gsize of_body = out->sent > out->head_size ? out->sent - out->head_size : 0;
	const guint n = add_rest(&parts[0], out->head, out->head_size, out->sent);

	return n + add_rest(&parts[n], out->body, out->body_size, of_body);
}

void http_output_clear(HttpOutput *out)
{
	g_free(out->head);
	g_free(out->body);
	*out = (HttpOutput){ 0 };
}
