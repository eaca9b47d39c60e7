/* SPDX-License-Identifier: Apache-2.0 */
#include "service/token.h"

#include <string.h>

guint rdmad_token_hash(gconstpointer token)
{
	const RdmadToken *t = token;

	return g_str_hash(t->token) * 31 + g_str_hash(t->resource);
}

gboolean rdmad_token_equal(gconstpointer a, gconstpointer b)
{
	const RdmadToken *x = a, *y = b;

	return !strcmp(x->token, y->token) && !strcmp(x->resource, y->resource);
}

RdmadToken *rdmad_token_dup(const RdmadToken *token)
{
	const gsize resource = strlen(token->resource) + 1, id = strlen(token->token) + 1;
	RdmadToken *copy = g_malloc(sizeof(*copy) + resource + id);
	char *text = (char *)(copy + 1);

	copy->resource = memcpy(text, token->resource, resource);
	copy->token = memcpy(text + resource, token->token, id);
	return copy;
}
