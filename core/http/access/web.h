/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web configuration in use: its file, what is in it, and what was made of it
 *
 * It is looked at again, at most once a second, when a connection or request comes; on the loop, because
 * that one must not go by what is no longer so.  New values that are wrong are told once, and change
 * nothing.
 */
#pragma once

#include "base/token-bucket.h"
#include "http/access/tls.h"
#include "http/access/users.h"
#include "http/http.h"

typedef struct HttpWeb HttpWeb;

/* RDMAD_ERROR_CONFIG and whatever keeps the TLS object from being loaded.  Shared by path. */
HttpWeb *http_web_open(RdmadHttp *http, const char *path, GError **error);
void http_web_close(HttpWeb *web);

/* Takes new values in, if there are. */
void http_web_refresh(HttpWeb *web);

gboolean http_web_has_tls(const HttpWeb *web);
gboolean http_web_wants_certificates(const HttpWeb *web);
/* TLS when it has that, else plain. */
HttpTransport *http_web_transport(HttpWeb *web, int fd);
/* Of WebHeader. */
const GPtrArray *http_web_headers(const HttpWeb *web);
/* FALSE: too many requests. */
gboolean http_web_admits(HttpWeb *web);
/* NULL when no password is asked for at this path. */
HttpUsers *http_web_users(HttpWeb *web, const char *path);
gboolean http_web_has_users(const HttpWeb *web);
const char *http_web_path(const HttpWeb *web);
/* Why the file as it is now is not in use; NULL: it is. */
const char *http_web_error(const HttpWeb *web);
