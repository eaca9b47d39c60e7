/* SPDX-License-Identifier: Apache-2.0 */
/* Names one token: ids are unique within a resource only. */
#pragma once

#include <glib.h>

typedef struct {
	const char *resource, *token;
} RdmadToken;

/* For hash tables whose keys are RdmadToken. */
guint rdmad_token_hash(gconstpointer token);
gboolean rdmad_token_equal(gconstpointer a, gconstpointer b);

/* One block with its own copy of both strings; g_free(). */
RdmadToken *rdmad_token_dup(const RdmadToken *token);
