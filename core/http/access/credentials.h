/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of a client: "Authorization: Basic ..." (RFC 7617), parsed strictly */
#pragma once

#include <glib.h>

typedef struct {
	char *user, *password; /* in one block; any bytes except NUL */
	gsize size;	       /* of the block, in bytes */
} HttpCredentials;

/* Returns FALSE if the value is malformed.  Clear the credentials in either case. */
gboolean http_credentials_parse(const char *value, HttpCredentials *credentials);
void http_credentials_clear(HttpCredentials *credentials);
