/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS by OpenSSL: the whole of rdmad-tls.so
 *
 * Sessions are not resumed: a scraper keeps its connection, and a client that reconnects is checked
 * again, against the current files.
 */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <rdmad/error.h>
#include <rdmad/log.h>
#include <rdmad/types.h>
#include <string.h>
#include <sys/socket.h>

#include "build-info.h"
#include "http/access/tls.h"

#define GOOD_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

typedef struct {
	int refs; /* one of the web configuration, and one of each connection */
	SSL_CTX *ctx;
	WebClientAuth client_auth;
	char **client_sans;
} Context;

typedef struct {
	HttpTransport base;
	Context *context;
	SSL *ssl;
	gboolean started, broken;
} Transport;

/* ---- context ---- */

static void context_unref(gpointer data)
{
	Context *context = data;

	if (--context->refs)
		return;
	SSL_CTX_free(context->ctx);
	g_strfreev(context->client_sans);
	g_free(context);
}

/* Returns FALSE. */
static gboolean tls_refuse(const char *place, const char *what, GError **error)
{
	const unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s: %s%s%s", place, what,
		    reason ? ": " : "", reason ?: "");
	ERR_clear_error();
	return FALSE;
}

/* A daemon has no terminal to read a passphrase from. */
static int no_passphrase(char *buffer, int size, int writing, void *data)
{
	return -1;
}

static X509 *next_certificate(BIO *bio)
{
	return PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
}

/* Returns whether the last next_certificate() reached the end of the text, as opposed to an invalid
 * certificate. */
static gboolean is_end_of_pem(void)
{
	const unsigned long code = ERR_peek_last_error();
	const gboolean end =
		ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;

	if (end)
		ERR_clear_error();
	return end;
}

/* Expects the server's certificate first, then its chain. */
static gboolean use_certificates(SSL_CTX *ctx, BIO *bio)
{
	X509 *cert = next_certificate(bio);
	const gboolean good = cert && SSL_CTX_use_certificate(ctx, cert) == 1;

	X509_free(cert);
	if (!good)
		return FALSE;
	while ((cert = next_certificate(bio)))
		if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
			X509_free(cert);
			return FALSE;
		}
	return is_end_of_pem();
}

static gboolean use_key(SSL_CTX *ctx, BIO *bio)
{
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	const gboolean good =
		key && SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;

	EVP_PKEY_free(key);
	return good;
}

static gboolean use_authorities(SSL_CTX *ctx, BIO *bio)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	gboolean any = FALSE, good = TRUE;
	X509 *cert;

	while (good && (cert = next_certificate(bio))) {
		good = X509_STORE_add_cert(store, cert) == 1 &&
		       SSL_CTX_add_client_CA(ctx, cert) == 1;
		any = TRUE;
		X509_free(cert);
	}
	/* As in Go, a listed certificate is trusted, whatever its issuer. */
	X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
	return any && good && is_end_of_pem();
}

static gboolean use_pem(SSL_CTX *ctx, const char *pem, gboolean (*use)(SSL_CTX *ctx, BIO *bio))
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	const gboolean good = use(ctx, bio);

	BIO_free(bio);
	return good;
}

static gboolean use_pems(SSL_CTX *ctx, const HttpTlsPems *pems, GError **error)
{
	if (!use_pem(ctx, pems->cert, use_certificates))
		return tls_refuse(pems->cert_place, "no usable certificate", error);
	if (!use_pem(ctx, pems->key, use_key))
		return tls_refuse(pems->key_place, "no usable key for the certificate", error);
	if (pems->client_ca && !use_pem(ctx, pems->client_ca, use_authorities))
		return tls_refuse(pems->ca_place, "no usable certificates of authorities", error);
	return TRUE;
}

static char *cipher_list(char **names)
{
	g_autoptr(GString) list = g_string_new(NULL);

	for (; names && *names; names++)
		if (strstr(*names, "_WITH_")) /* else of TLS 1.3 */
			g_string_append_printf(list, "%s%s", list->len ? ":" : "",
					       OPENSSL_cipher_name(*names));
	return g_string_free(g_steal_pointer(&list), FALSE);
}

static gboolean use_ciphers(SSL_CTX *ctx, char **names)
{
	g_autofree char *list = names ? cipher_list(names) : g_strdup(GOOD_CIPHERS);

	if (!*list)
		return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1;
	return SSL_CTX_set_cipher_list(ctx, list) == 1;
}

static int version_number(int version)
{
	return version >= 13 ? TLS1_3_VERSION : TLS1_2_VERSION;
}

static gboolean use_values(SSL_CTX *ctx, const WebTls *config)
{
	g_autofree char *curves = config->curves ? g_strjoinv(":", config->curves) : NULL;

	SSL_CTX_set_options(ctx,
			    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	if (config->prefer_server)
		SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* Otherwise a client that only sends key updates would keep the loop inside one
	 * SSL_read(). */
	SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	return SSL_CTX_set_min_proto_version(ctx, version_number(config->min_version)) == 1 &&
	       SSL_CTX_set_max_proto_version(ctx, version_number(config->max_version)) == 1 &&
	       use_ciphers(ctx, config->ciphers) &&
	       (!curves || SSL_CTX_set1_groups_list(ctx, curves) == 1);
}

/* Only HTTP/1.1 is supported; a client that offers only other protocols gets an alert. */
static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
			   const unsigned char *in, unsigned int in_size, void *data)
{
	static const unsigned char own[] = "\x08http/1.1";
	unsigned char *selected;

	if (SSL_select_next_proto(&selected, out_size, own, sizeof(own) - 1, in, in_size) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = selected;
	return SSL_TLSEXT_ERR_OK;
}

/* ---- certificates of clients ---- */

/* Formats an alternative name as Go does: DNS, e-mail and URI literally, addresses as numbers. */
static char *san_text(const GENERAL_NAME *name)
{
	char address[INET6_ADDRSTRLEN];
	const ASN1_STRING *string;

	switch (name->type) {
	case GEN_DNS:
	case GEN_EMAIL:
	case GEN_URI:
		string = name->d.ia5;
		return g_strndup((const char *)ASN1_STRING_get0_data(string),
				 ASN1_STRING_length(string));
	case GEN_IPADD:
		string = name->d.ip;
		if (!inet_ntop(ASN1_STRING_length(string) == 4 ? AF_INET : AF_INET6,
			       ASN1_STRING_get0_data(string), address, sizeof(address)))
			return NULL;
		return g_strdup(address);
	default:
		return NULL;
	}
}

/* Rejects a name with a NUL, which would be compared only up to it. */
static gboolean san_is_whole(const GENERAL_NAME *name)
{
	if (name->type == GEN_IPADD)
		return ASN1_STRING_length(name->d.ip) == 4 || ASN1_STRING_length(name->d.ip) == 16;
	return name->type != GEN_DIRNAME && name->type != GEN_OTHERNAME && name->type != GEN_X400 &&
	       name->type != GEN_EDIPARTY && name->type != GEN_RID &&
	       !memchr(ASN1_STRING_get0_data(name->d.ia5), '\0', ASN1_STRING_length(name->d.ia5));
}

static gboolean certificate_is_allowed(X509 *cert, const char *const *sans)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	gboolean found = FALSE;

	for (int i = 0; !found && i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		g_autofree char *text = san_is_whole(name) ? san_text(name) : NULL;

		found = text && g_strv_contains(sans, text);
	}
	GENERAL_NAMES_free(names);
	return found;
}

static int verify_client(int good, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	const Context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	if (!good && context->client_auth >= WEB_CLIENT_VERIFY)
		return 0;
	if (X509_STORE_CTX_get_error_depth(store) > 0 || !context->client_sans)
		return 1;
	if (certificate_is_allowed(X509_STORE_CTX_get_current_cert(store),
				   (const char *const *)context->client_sans))
		return 1;
	X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
	return 0;
}

static void ask_clients(const Context *context)
{
	int mode = SSL_VERIFY_NONE;

	if (context->client_auth != WEB_CLIENT_NONE)
		mode = SSL_VERIFY_PEER;
	if (context->client_auth == WEB_CLIENT_REQUIRE ||
	    context->client_auth == WEB_CLIENT_REQUIRE_VERIFY)
		mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	SSL_CTX_set_verify(context->ctx, mode, verify_client);
}

static gpointer tls_context_new(const WebTls *config, const HttpTlsPems *pems, GError **error)
{
	Context *context;
	SSL_CTX *ctx;

	ERR_clear_error();
	ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx) {
		tls_refuse(pems->cert_place, "OpenSSL cannot be used", error);
		return NULL;
	}
	context = g_new0(Context, 1);
	context->refs = 1;
	context->ctx = ctx;
	context->client_auth = config->client_auth;
	context->client_sans = g_strdupv(config->client_sans);
	SSL_CTX_set_app_data(ctx, context);
	SSL_CTX_set_alpn_select_cb(ctx, select_protocol, NULL);
	ask_clients(context);
	if (use_values(ctx, config) ? use_pems(ctx, pems, error)
				    : tls_refuse(pems->cert_place,
						 "OpenSSL rejects these versions, cipher suites "
						 "and curves",
						 error))
		return context;
	context_unref(context);
	return NULL;
}

/* ---- transport ---- */

static int transport_wait(Transport *t, int result)
{
	const int code = SSL_get_error(t->ssl, result);
	const unsigned long why = ERR_peek_last_error();

	if (code == SSL_ERROR_WANT_READ)
		return HTTP_WAIT_READ;
	if (code == SSL_ERROR_WANT_WRITE)
		return HTTP_WAIT_WRITE;
	if (code == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (why)
		rdmad_debug("TLS: %s", ERR_reason_error_string(why) ?: "broken");
	ERR_clear_error();
	t->broken = TRUE;
	return HTTP_BROKEN;
}

static int tls_start(HttpTransport *base)
{
	Transport *t = (Transport *)base;
	int n, wait;

	ERR_clear_error();
	n = SSL_accept(t->ssl);
	if (n == 1) {
		t->started = TRUE;
		return 0;
	}
	wait = transport_wait(t, n);
	return wait ?: HTTP_BROKEN;
}

static gssize tls_recv(HttpTransport *base, void *buffer, gsize size)
{
	Transport *t = (Transport *)base;
	int n;

	ERR_clear_error();
	n = SSL_read(t->ssl, buffer, size);
	return n > 0 ? n : transport_wait(t, n);
}

/* Fills one record, so that a small response is a single record. */
static gsize gather(guint8 *record, gsize room, const struct iovec *parts, guint n_parts)
{
	gsize size = 0;

	for (guint i = 0; i < n_parts && size < room; i++) {
		const gsize n = MIN(parts[i].iov_len, room - size);

		memcpy(record + size, parts[i].iov_base, n);
		size += n;
	}
	return size;
}

static gssize tls_send(HttpTransport *base, const struct iovec *parts, guint n_parts)
{
	Transport *t = (Transport *)base;
	guint8 record[SSL3_RT_MAX_PLAIN_LENGTH];
	const void *data = parts[0].iov_base;
	gsize size = parts[0].iov_len;
	int n;

	if (n_parts > 1) {
		data = record;
		size = gather(record, sizeof(record), parts, n_parts);
	}
	ERR_clear_error();
	n = SSL_write(t->ssl, data, MIN(size, (gsize)G_MAXINT));
	return n > 0 ? n : transport_wait(t, n);
}

static void tls_finish(HttpTransport *base)
{
	Transport *t = (Transport *)base;

	if (t->started && !t->broken) {
		ERR_clear_error();
		SSL_shutdown(t->ssl); /* without waiting for the peer */
		ERR_clear_error();
	}
	shutdown(t->base.fd, SHUT_WR);
}

static void tls_free(HttpTransport *base)
{
	Transport *t = (Transport *)base;

	SSL_free(t->ssl);
	context_unref(t->context);
	g_free(t);
}

static HttpTransport *tls_transport_new(gpointer data, int fd)
{
	static const HttpTransportClass klass = {
		.start = tls_start,
		.recv = tls_recv,
		.send = tls_send,
		.finish = tls_finish,
		.free = tls_free,
	};
	Transport *t = g_new0(Transport, 1);

	t->base.klass = &klass;
	t->base.fd = fd;
	t->context = data;
	t->context->refs++;
	t->ssl = SSL_new(t->context->ctx);
	if (!t->ssl || SSL_set_fd(t->ssl, fd) != 1)
		g_error("no memory for a TLS connection");
	SSL_set_accept_state(t->ssl);
	return &t->base;
}

RDMAD_API extern const HttpTlsClass rdmad_http_tls;
const HttpTlsClass rdmad_http_tls = {
	.part = { RDMAD_VERSION },
	.context_new = tls_context_new,
	.context_free = context_unref,
	.transport_new = tls_transport_new,
};
