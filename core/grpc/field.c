/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/field.h"

#include <string.h>

static gboolean text_is(const char *text, gsize size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(text, wanted, size) == 0;
}

gboolean rdmad_grpc_field_named(const RdmadGrpcField *field, const char *name)
{
	return text_is(field->name, field->name_len, name);
}

gboolean rdmad_grpc_field_has(const RdmadGrpcField *field, const char *value)
{
	return text_is(field->value, field->value_len, value);
}

nghttp2_nv rdmad_grpc_field_send(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
			     NGHTTP2_NV_FLAG_NONE };
}
