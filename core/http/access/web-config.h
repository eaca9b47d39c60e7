/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file by which a listener has TLS and passwords
 *
 * The form is that of Prometheus' exporters, so that one file can serve them all:
 * https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md
 * Where that takes what it does not use, or what cannot work, this refuses it.
 */
#pragma once

#include <glib.h>

/* As Go's crypto/tls has them. */
typedef enum {
	WEB_CLIENT_NONE,
	WEB_CLIENT_REQUEST, /* and take any, or none */
	WEB_CLIENT_REQUIRE, /* any */
	WEB_CLIENT_VERIFY,  /* if there is one */
	WEB_CLIENT_REQUIRE_VERIFY,
} WebClientAuth;

/* PEM: in the file itself, or in one of its own; both NULL: not given. */
typedef struct {
	char *text;
	char *path; /* absolute, or as the configuration's own path */
} WebPem;

typedef struct {
	WebPem cert, key, client_ca;
	WebClientAuth client_auth;
	char **client_sans;	      /* NULL: any */
	int min_version, max_version; /* 12, 13 */
	char **ciphers;		      /* of TLS 1.2, IANA's names; NULL: the library's good ones */
	char **curves;		      /* "X25519", "P-256"; NULL: the library's */
	gboolean prefer_server;
} WebTls;

typedef struct {
	char *name, *value;
} WebHeader;

typedef struct {
	gboolean has_tls;
	WebTls tls;
	GPtrArray *headers;	/* WebHeader, for every answer */
	GHashTable *users;	/* name to bcrypt hash; empty: no password is required */
	char **open_paths;	/* that need no password; or NULL */
	double rate_interval_s; /* between two requests; 0: no limit */
	gint rate_burst;
	GPtrArray *notes; /* char *: values that were read as others */
} WebConfig;

/* `path`: for messages, and what relative paths are relative to.  RDMAD_ERROR_CONFIG, with path:line and
 * never with a secret. */
WebConfig *web_config_parse(const char *path, const char *text, gsize size, GError **error);
void web_config_free(WebConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebConfig, web_config_free)
