/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/response-head.h"

#include "grpc/status.h"
#include "grpc/wire.h"

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
	if (rdmad_grpc_field_named(field, ":status"))
		head->http = parse_http(field);
	else if (rdmad_grpc_field_named(field, "content-type"))
		head->grpc = field->value_len >= 16 &&
			     g_ascii_strncasecmp(field->value, "application/grpc", 16) == 0;
	else if (rdmad_grpc_field_named(field, "grpc-status"))
		head_status(head, field);
	else if (rdmad_grpc_field_named(field, "grpc-message"))
		head_text(head, field);
	else if (rdmad_grpc_field_named(field, "grpc-encoding"))
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
