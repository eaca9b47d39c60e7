/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/head.h"

#include <string.h>

#include "grpc/status.h"
#include "grpc/wire.h"

static gboolean text_is(const char *text, gsize size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(text, wanted, size) == 0;
}

static gboolean field_named(const RdmadGrpcField *field, const char *name)
{
	return text_is(field->name, field->name_len, name);
}

static gboolean field_has(const RdmadGrpcField *field, const char *value)
{
	return text_is(field->value, field->value_len, value);
}

nghttp2_nv rdmad_grpc_field_send(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
			     NGHTTP2_NV_FLAG_NONE };
}

/* ---- requests ---- */

#define UNKNOWN_MAX 128

void rdmad_grpc_head_init(RdmadGrpcHead *head, const RdmadGrpcMethod *methods)
{
	*head = (RdmadGrpcHead){ .methods = methods };
}

void rdmad_grpc_head_clear(RdmadGrpcHead *head)
{
	g_clear_pointer(&head->unknown, g_free);
}

static void head_path(RdmadGrpcHead *head, const RdmadGrpcField *field)
{
	head->method = NULL;
	for (const RdmadGrpcMethod *m = head->methods; m->path; m++)
		if (field_has(field, m->path))
			head->method = m;
	if (head->method)
		return;
	g_free(head->unknown);
	head->unknown = g_strndup(field->value, MIN(field->value_len, (gsize)UNKNOWN_MAX));
}

/* Accepts "application/grpc", also with a suffix such as "+proto" or ";charset". */
static gboolean content_is_grpc(const RdmadGrpcField *field)
{
	static const char wanted[] = "application/grpc";
	const gsize n = sizeof(wanted) - 1;

	if (field->value_len < n || g_ascii_strncasecmp(field->value, wanted, n) != 0)
		return FALSE;
	return field->value_len == n || field->value[n] == '+' || field->value[n] == ';';
}

static void head_timeout(RdmadGrpcHead *head, const RdmadGrpcField *field)
{
	head->has_timeout =
		rdmad_grpc_timeout_parse(field->value, field->value_len, &head->timeout_ms);
	head->bad_timeout = !head->has_timeout;
}

void rdmad_grpc_head_field(RdmadGrpcHead *head, const RdmadGrpcField *field)
{
	if (field_named(field, ":path"))
		head_path(head, field);
	else if (field_named(field, ":method"))
		head->post = field_has(field, "POST");
	else if (field_named(field, ":authority"))
		head->authorities++;
	else if (field_named(field, "host"))
		head->hosts++;
	else if (field_named(field, "content-type"))
		head->grpc = content_is_grpc(field);
	else if (field_named(field, "grpc-timeout"))
		head_timeout(head, field);
	else if (field_named(field, "grpc-encoding"))
		head->compressed = !field_has(field, "identity");
	else if (field_named(field, "connection"))
		head->connection = TRUE;
}

static gboolean refuse(RdmadGrpcRefusal *refusal, guint http, RdmadGrpcStatus status,
		       const char *text, const char *detail)
{
	*refusal = (RdmadGrpcRefusal){ http, status, text, detail };
	return FALSE;
}

/* Accepts any :authority: clients of unix sockets send a path, "localhost", or none. */
gboolean rdmad_grpc_head_check(const RdmadGrpcHead *head, RdmadGrpcRefusal *refusal)
{
	if (head->connection)
		return refuse(refusal, 0, RDMAD_GRPC_INTERNAL, "connection header", NULL);
	if (head->authorities > 1 || head->hosts > 1)
		return refuse(refusal, 400, RDMAD_GRPC_INTERNAL, "more than one host", NULL);
	if (!head->grpc)
		return refuse(refusal, 415, RDMAD_GRPC_UNKNOWN,
			      "the content-type is not application/grpc", NULL);
	if (head->bad_timeout)
		return refuse(refusal, 400, RDMAD_GRPC_INTERNAL, "malformed grpc-timeout", NULL);
	if (!head->post)
		return refuse(refusal, 405, RDMAD_GRPC_INTERNAL, "the method is not POST", NULL);
	if (!head->method)
		return refuse(refusal, 200, RDMAD_GRPC_UNIMPLEMENTED, "unknown method",
			      head->unknown);
	if (head->compressed)
		return refuse(refusal, 200, RDMAD_GRPC_UNIMPLEMENTED,
			      "only identity is supported as grpc-encoding", NULL);
	return TRUE;
}

/* ---- responses ---- */

static guint parse_http(const RdmadGrpcField *field)
{
	guint http = 0;

	if (field->value_len != 3)
		return 0;
	for (gsize i = 0; i < 3; i++) {
		if (!g_ascii_isdigit(field->value[i]))
			return 0;
		http = http * 10 + (guint)(field->value[i] - '0');
	}
	return http;
}

static void head_status(RdmadGrpcResponseHead *head, const RdmadGrpcField *field)
{
	if (!rdmad_grpc_status_parse(field->value, field->value_len, &head->status))
		head->status = RDMAD_GRPC_UNKNOWN;
	head->has_status = TRUE;
}

static void head_text(RdmadGrpcResponseHead *head, const RdmadGrpcField *field)
{
	g_free(head->text);
	head->text = rdmad_grpc_text_decode(field->value, field->value_len);
}

void rdmad_grpc_response_head_field(RdmadGrpcResponseHead *head, const RdmadGrpcField *field)
{
	if (field_named(field, ":status"))
		head->http = parse_http(field);
	else if (field_named(field, "content-type"))
		head->grpc = field->value_len >= 16 &&
			     g_ascii_strncasecmp(field->value, "application/grpc", 16) == 0;
	else if (field_named(field, "grpc-status"))
		head_status(head, field);
	else if (field_named(field, "grpc-message"))
		head_text(head, field);
	else if (field_named(field, "grpc-encoding"))
		head->compressed =
			field->value_len != 8 || memcmp(field->value, "identity", 8) != 0;
}

void rdmad_grpc_response_head_clear(RdmadGrpcResponseHead *head)
{
	g_clear_pointer(&head->text, g_free);
}

gboolean rdmad_grpc_response_head_check(const RdmadGrpcResponseHead *head, RdmadGrpcStatus *status,
					char **text)
{
	if (head->has_status && head->grpc)
		return TRUE;
	if (head->http != 200) {
		*status = rdmad_grpc_status_from_http(head->http);
		*text = g_strdup_printf("the server answered with HTTP status %u", head->http);
		return FALSE;
	}
	if (!head->grpc) {
		*status = RDMAD_GRPC_UNKNOWN;
		*text = g_strdup("the server answered with another content-type than "
				 "application/grpc");
		return FALSE;
	}
	return TRUE;
}
