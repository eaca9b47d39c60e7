/* SPDX-License-Identifier: Apache-2.0 */
#include "http/output.h"

static guint add_rest(struct iovec *part, const char *data, gsize size, gsize sent)
{
	if (sent >= size)
		return 0;
	*part = (struct iovec){ (char *)data + sent, size - sent };
	return 1;
}

guint http_output_rest(const HttpOutput *out, gsize max, struct iovec parts[2])
{
	const gsize end = out->sent + MIN(max, G_MAXSIZE - out->sent);
	const gsize head_end = MIN(out->head_size, end);
	const gsize body_end = end > out->head_size ? end - out->head_size : 0;
	const gsize of_body = out->sent > out->head_size ? out->sent - out->head_size : 0;
	const char *body = out->body ? g_bytes_get_data(out->body, NULL) : NULL;
	const guint n = add_rest(&parts[0], out->head, head_end, out->sent);

	return n + add_rest(&parts[n], body, MIN(out->body_size, body_end), of_body);
}

gsize http_output_unsent(const HttpOutput *out)
{
	return out->head_size + out->body_size - out->sent;
}

void http_output_clear(HttpOutput *out)
{
	g_free(out->head);
	g_clear_pointer(&out->body, g_bytes_unref);
	*out = (HttpOutput){ 0 };
}
