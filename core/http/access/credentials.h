/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of a client: "Authorization: Basic ..." (RFC 7617), parsed strictly. */
#pragma once

#include <glib.h>

typedef struct {
	char *user, *password; /* the same block; any bytes but NUL */
	gsize size;	       /* of the block */
} HttpCredentials;

/* FALSE when the value is none.  Clear them in either case. */
gboolean http_credentials_parse(const char *value, HttpCredentials *credentials);
void http_credentials_clear(HttpCredentials *credentials);
