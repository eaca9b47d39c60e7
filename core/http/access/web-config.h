/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that configures TLS and passwords of a listener
 *
 * The format is that of the Prometheus exporters, so that one file can serve all of them:
 * https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md
 * Unlike exporter-toolkit, this parser rejects values that have no effect or cannot work.
 */
#pragma once

#include <glib.h>

/* The modes of Go's crypto/tls. */
typedef enum {
	WEB_CLIENT_NONE,
	WEB_CLIENT_REQUEST, /* accept any certificate, or none */
	WEB_CLIENT_REQUIRE, /* accept any certificate */
	WEB_CLIENT_VERIFY,  /* verify the certificate if there is one */
	WEB_CLIENT_REQUIRE_VERIFY,
} WebClientAuth;

/* PEM text in the configuration, or in a separate file; both NULL: not configured. */
typedef struct {
	char *text;
	char *path; /* absolute if the configuration's path is */
} WebPem;

typedef struct {
	WebPem cert, key, client_ca;
	WebClientAuth client_auth;
	char **client_sans;	      /* NULL: any */
	int min_version, max_version; /* 12, 13 */
	char **ciphers; /* of TLS 1.2, by IANA name; NULL: the library's secure ones */
	char **curves;	/* "X25519", "P-256"; NULL: the library's default */
	gboolean prefer_server;
} WebTls;

typedef struct {
	char *name, *value;
} WebHeader;

typedef struct {
	gboolean has_tls;
	WebTls tls;
	GPtrArray *headers;	/* WebHeader, for every response */
	GHashTable *users;	/* name to bcrypt hash; empty: no password is required */
	char **open_paths;	/* paths without a password, or NULL */
	double rate_interval_s; /* between two requests; 0: no limit */
	gint rate_burst;
	GPtrArray *notes; /* char *: values that were replaced */
} WebConfig;

/* `path` appears in messages, and relative paths are relative to its directory.  RDMAD_ERROR_CONFIG
 * names path:line and never contains a secret. */
WebConfig *web_config_parse(const char *path, const char *text, gsize size, GError **error);
void web_config_free(WebConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebConfig, web_config_free)
