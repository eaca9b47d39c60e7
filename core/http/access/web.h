/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web configuration in use: its file, its values, and the objects made from them
 *
 * The file is checked for changes when a connection or request arrives, at most once a second.  The
 * check runs on the loop, because this very request must not use revoked values.  Invalid new
 * values are ignored and logged once.
 */
#pragma once

#include "base/token-bucket.h"
#include "http/access/tls.h"
#include "http/access/users.h"
#include "http/http.h"

typedef struct HttpWeb HttpWeb;

/* Listeners with the same path share one object.  RDMAD_ERROR_CONFIG, and the errors of loading
 * the parts of rdmad for TLS and passwords. */
HttpWeb *http_web_open(RdmadHttp *http, const char *path, GError **error);
void http_web_close(HttpWeb *web);

/* Loads the file again if it changed. */
void http_web_refresh(HttpWeb *web);

gboolean http_web_has_tls(const HttpWeb *web);
gboolean http_web_wants_certificates(const HttpWeb *web);
/* Returns a TLS transport if TLS is configured, else a plain one. */
HttpTransport *http_web_transport(HttpWeb *web, int fd);
/* Returns an array of WebHeader. */
const GPtrArray *http_web_headers(const HttpWeb *web);
/* Returns FALSE if the rate limit is exceeded. */
gboolean http_web_admits(HttpWeb *web);
/* Returns NULL if this path requires no password. */
HttpUsers *http_web_users(HttpWeb *web, const char *path);
gboolean http_web_has_users(const HttpWeb *web);
const char *http_web_path(const HttpWeb *web);
/* Returns why the current file is not in use, or NULL if it is. */
const char *http_web_error(const HttpWeb *web);
