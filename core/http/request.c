/* SPDX-License-Identifier: Apache-2.0 */
/* A request and its response, from the handler's side */
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "http/server.h"

void http_request_free(RdmadHttpRequest *request)
{
	if (!request)
		return;
	rdmad_http_head_clear(&request->head);
	g_free(request->body);
	if (request->headers)
		g_string_free(request->headers, TRUE);
	g_free(request);
}

const char *rdmad_http_request_path(const RdmadHttpRequest *request)
{
	return request->head.path;
}

const char *rdmad_http_request_tail(const RdmadHttpRequest *request)
{
	return request->tail;
}

const char *rdmad_http_request_header(const RdmadHttpRequest *request, const char *name)
{
	return rdmad_http_head_field(&request->head, name);
}

const char *rdmad_http_request_query(const RdmadHttpRequest *request, const char *name)
{
	return rdmad_http_head_param(&request->head, name);
}

const guint8 *rdmad_http_request_body(const RdmadHttpRequest *request, gsize *size)
{
	*size = request->body_size;
	return request->body;
}

void rdmad_http_request_on_gone(RdmadHttpRequest *request, void (*gone)(gpointer data),
				gpointer data)
{
	request->gone = gone;
	request->gone_data = data;
}

gboolean rdmad_http_request_park(RdmadHttpRequest *request)
{
	const HttpListener *listener = request->connection->listener;

	if (http_listener_parked(listener) < MAX(listener->http->places / 2, 1)) {
		request->parked = TRUE;
		http_turns_leave(listener->http->turns, request->connection);
		return TRUE;
	}
	rdmad_http_add_header(request, "Retry-After", "1");
	rdmad_http_fail(request, 503, "too many requests wait for events");
	return FALSE;
}

void rdmad_http_add_header(RdmadHttpRequest *request, const char *name, const char *value)
{
	if (!request->headers)
		request->headers = g_string_new(NULL);
	g_string_append_printf(request->headers, "%s: ", name);
	/* The value may come from outside and must not end the line. */
	for (const char *c = value; *c; c++)
		g_string_append_c(request->headers, g_ascii_iscntrl(*c) ? ' ' : *c);
	g_string_append(request->headers, "\r\n");
}

void rdmad_http_reply(RdmadHttpRequest *request, guint status, const char *content_type,
		      const void *body, gsize size)
{
	rdmad_http_reply_take(request, status, content_type, g_memdup2(body, size), size);
}

void rdmad_http_reply_take(RdmadHttpRequest *request, guint status, const char *content_type,
			   char *body, gsize size)
{
	http_connection_answer(request->connection, status, content_type,
			       g_bytes_new_take(body, size));
}

void rdmad_http_reply_bytes(RdmadHttpRequest *request, guint status, const char *content_type,
			    GBytes *body)
{
	http_connection_answer(request->connection, status, content_type, g_bytes_ref(body));
}

gboolean rdmad_http_request_is_local(const RdmadHttpRequest *request)
{
	return request->connection->listener->scope == RDMAD_HTTP_LOCAL;
}

void rdmad_http_fail(RdmadHttpRequest *request, guint status, const char *format, ...)
{
	g_autofree char *text = NULL;
	char *body;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	body = http_answer_error(text);
	rdmad_http_reply_take(request, status, "application/json", body, strlen(body));
}

void rdmad_http_reply_json(RdmadHttpRequest *request, struct json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	json_decref(value);
	if (!text) {
		rdmad_http_fail(request, 500, "the answer cannot be written as JSON");
		return;
	}
	rdmad_http_reply_take(request, 200, "application/json", text, strlen(text));
}
