/* SPDX-License-Identifier: Apache-2.0 */
/* Any :authority is served, none as well: clients of unix sockets send a path, "localhost", nothing. */
#include "grpc/request-head.h"

#include "grpc/wire.h"

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
		if (rdmad_grpc_field_has(field, m->path))
			head->method = m;
	if (head->method)
		return;
	g_free(head->unknown);
	head->unknown = g_strndup(field->value, MIN(field->value_len, (gsize)UNKNOWN_MAX));
}

/* "application/grpc", or that followed by "+proto" or ";charset". */
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
	if (rdmad_grpc_field_named(field, ":path"))
		head_path(head, field);
	else if (rdmad_grpc_field_named(field, ":method"))
		head->post = rdmad_grpc_field_has(field, "POST");
	else if (rdmad_grpc_field_named(field, ":authority"))
		head->authorities++;
	else if (rdmad_grpc_field_named(field, "host"))
		head->hosts++;
	else if (rdmad_grpc_field_named(field, "content-type"))
		head->grpc = content_is_grpc(field);
	else if (rdmad_grpc_field_named(field, "grpc-timeout"))
		head_timeout(head, field);
	else if (rdmad_grpc_field_named(field, "grpc-encoding"))
		head->compressed = !rdmad_grpc_field_has(field, "identity");
	else if (rdmad_grpc_field_named(field, "connection"))
		head->connection = TRUE;
}

static gboolean refuse(RdmadGrpcRefusal *refusal, guint http, RdmadGrpcStatus status,
		       const char *text, const char *detail)
{
	*refusal = (RdmadGrpcRefusal){ http, status, text, detail };
	return FALSE;
}

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
