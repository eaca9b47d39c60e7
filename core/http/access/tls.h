/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of rdmad-tls.so, which is loaded when a listener has TLS
 *
 * Linked in, libssl costs an idle daemon 1.1 MiB (PSS, before any use; GnuTLS: 2.4 MiB; Debian's
 * mbedTLS has no TLS 1.3), and most nodes use no TLS.
 */
#pragma once

#include "base/part.h"
#include "http/transport.h"
#include "http/access/web-config.h"

/* PEM texts, from files or from the configuration. */
typedef struct {
	const char *cert, *key, *client_ca;	       /* client_ca may be NULL */
	const char *cert_place, *key_place, *ca_place; /* for messages */
} HttpTlsPems;

typedef struct {
	RdmadPart part;
	/* RDMAD_ERROR_CONFIG. */
	gpointer (*context_new)(const WebTls *config, const HttpTlsPems *pems, GError **error);
	/* Existing connections keep a reference. */
	void (*context_free)(gpointer context);
	HttpTransport *(*transport_new)(gpointer context, int fd);
} HttpTlsClass;

#define HTTP_TLS_OBJECT "rdmad-tls"
#define HTTP_TLS_SYMBOL "rdmad_http_tls"
