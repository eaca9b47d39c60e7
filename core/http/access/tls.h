/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS, in a separate shared object (rdmad-tls.so beside the modules)
 *
 * Linked in, libssl costs an idle daemon 1.1 MiB (PSS, before any use; GnuTLS: 2.4 MiB; Debian's
 * mbedTLS has no TLS 1.3), and most nodes use no TLS.  The object is loaded when a listener needs
 * it.
 */
#pragma once

#include "http/transport.h"
#include "http/access/web-config.h"

/* PEM texts, from files or from the configuration. */
typedef struct {
	const char *cert, *key, *client_ca;	       /* client_ca may be NULL */
	const char *cert_place, *key_place, *ca_place; /* for messages */
} HttpTlsPems;

typedef struct {
	const char *version; /* of rdmad: the interface is stable only within one version */
	/* RDMAD_ERROR_CONFIG. */
	gpointer (*context_new)(const WebTls *config, const HttpTlsPems *pems, GError **error);
	/* Existing connections keep a reference. */
	void (*context_free)(gpointer context);
	HttpTransport *(*transport_new)(gpointer context, int fd);
} HttpTlsClass;

#define HTTP_TLS_OBJECT "rdmad-tls"
#define HTTP_TLS_SYMBOL "rdmad_http_tls"
