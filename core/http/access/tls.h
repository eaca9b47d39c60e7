/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS, in a shared object of its own (rdmad-tls.so beside the modules)
 *
 * Linked in, libssl would cost every idle daemon 1.1 MiB (PSS, before any use; GnuTLS: 2.4; Debian's mbedTLS
 * has no TLS 1.3), and most nodes have no TLS.  So the object is loaded when a listener wants it.
 */
#pragma once

#include "http/transport.h"
#include "http/access/web-config.h"

/* PEM from the files, or from the configuration itself. */
typedef struct {
	const char *cert, *key, *client_ca;	       /* the last may be NULL */
	const char *cert_place, *key_place, *ca_place; /* for messages */
} HttpTlsPems;

typedef struct {
	const char *version; /* of rdmad: nothing else is promised to fit */
	/* RDMAD_ERROR_CONFIG. */
	gpointer (*context_new)(const WebTls *config, const HttpTlsPems *pems, GError **error);
	/* Connections that have it keep it. */
	void (*context_free)(gpointer context);
	HttpTransport *(*transport_new)(gpointer context, int fd);
} HttpTlsClass;

#define HTTP_TLS_OBJECT "rdmad-tls"
#define HTTP_TLS_SYMBOL "rdmad_http_tls"
