/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web configuration in use: its file, its values, and the objects made of them
 *
 * It is checked for changes when a connection or request arrives, at most once a second; on the
 * loop, because that one must not use revoked values.  Invalid new values are ignored and logged
 * once.
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
/* NULL if no password is required at this path. */
HttpUsers *http_web_users(HttpWeb *web, const char *path);
gboolean http_web_has_users(const HttpWeb *web);
const char *http_web_path(const HttpWeb *web);
/* Why the file as it is now is not in use; NULL: it is. */
const char *http_web_error(const HttpWeb *web);
