/* SPDX-License-Identifier: Apache-2.0 */
/* One header field, as it comes and as it goes. */
#pragma once

#include <glib.h>
#include <nghttp2/nghttp2.h>

/* Neither end is terminated by more than its length. */
typedef struct {
	const char *name, *value;
	gsize name_len, value_len;
} RdmadGrpcField;

gboolean rdmad_grpc_field_named(const RdmadGrpcField *field, const char *name);
gboolean rdmad_grpc_field_has(const RdmadGrpcField *field, const char *value);

/* For the submit functions, which copy it. */
nghttp2_nv rdmad_grpc_field_send(const char *name, const char *value);
