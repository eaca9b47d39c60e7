/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server_config: names as Go's crypto/tls has them. */
#include "http/access/web-value.h"

#include <string.h>

/* https://pkg.go.dev/crypto/tls#CipherSuites of Go 1.19, with which Debian's exporters are built, to now;
 * those of TLS 1.3 can be named, and are always on. */
static const char *const ciphers[] = {
	"TLS_RSA_WITH_AES_128_CBC_SHA",
	"TLS_RSA_WITH_AES_256_CBC_SHA",
	"TLS_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_AES_128_GCM_SHA256",
	"TLS_AES_256_GCM_SHA384",
	"TLS_CHACHA20_POLY1305_SHA256",
	NULL,
};

typedef struct {
	const char *name;
	int value;
} Name;

static const Name client_auths[] = {
	{ "NoClientCert", WEB_CLIENT_NONE },
	{ "RequestClientCert", WEB_CLIENT_REQUEST },
	{ "RequireAnyClientCert", WEB_CLIENT_REQUIRE },
	{ "RequireClientCert", WEB_CLIENT_REQUIRE },
	{ "VerifyClientCertIfGiven", WEB_CLIENT_VERIFY },
	{ "RequireAndVerifyClientCert", WEB_CLIENT_REQUIRE_VERIFY },
	{ NULL },
};

static const Name versions[] = {
	{ "TLS10", 10 }, { "TLS11", 11 }, { "TLS12", 12 }, { "TLS13", 13 }, { NULL },
};

static gboolean read_name(WebReader *reader, const RdmadYaml *value, const Name *names, int *where,
			  GError **error)
{
	g_autoptr(GString) known = g_string_new(NULL);

	for (const Name *n = names; n->name; n++) {
		if (value->type == RDMAD_YAML_TEXT && g_str_equal(n->name, value->text)) {
			*where = n->value;
			return TRUE;
		}
		g_string_append_printf(known, "%s%s", known->len ? ", " : "", n->name);
	}
	return web_refuse(reader, value, error, "here must be one of %s", known->str);
}

static gboolean read_client_auth(WebReader *reader, const RdmadYaml *value, gpointer where,
				 GError **error)
{
	int auth;

	if (value->type == RDMAD_YAML_TEXT && !*value->text)
		return TRUE;
	if (!read_name(reader, value, client_auths, &auth, error))
		return FALSE;
	*(WebClientAuth *)where = auth;
	return TRUE;
}

static gboolean read_min_version(WebReader *reader, const RdmadYaml *value, gpointer where,
				 GError **error)
{
	int *version = where;

	if (!read_name(reader, value, versions, version, error))
		return FALSE;
	if (*version < 12) {
		web_note(reader, value, "TLS 1.2 is the oldest that is spoken here");
		*version = 12;
	}
	return TRUE;
}

static gboolean read_max_version(WebReader *reader, const RdmadYaml *value, gpointer where,
				 GError **error)
{
	if (!read_name(reader, value, versions, where, error))
		return FALSE;
	return *(int *)where >= 12 ||
	       web_refuse(reader, value, error, "TLS 1.2 is the oldest that is spoken here");
}

static gboolean read_ciphers(WebReader *reader, const RdmadYaml *value, gpointer where,
			     GError **error)
{
	char ***names = where;

	if (!web_read_texts(reader, value, names, error))
		return FALSE;
	for (guint i = 0; *names && (*names)[i]; i++)
		if (!g_strv_contains(ciphers, (*names)[i]))
			return web_refuse(reader, g_ptr_array_index(value->children, i), error,
					  "this is no cipher suite of Go that is held for secure");
	return TRUE;
}

static const char *curve_name(const char *name)
{
	static const struct {
		const char *go, *name;
	} curves[] = { { "CurveP256", "P-256" },
		       { "CurveP384", "P-384" },
		       { "CurveP521", "P-521" },
		       { "X25519", "X25519" } };

	for (gsize i = 0; i < G_N_ELEMENTS(curves); i++)
		if (g_str_equal(curves[i].go, name))
			return curves[i].name;
	return NULL;
}

static gboolean read_curves(WebReader *reader, const RdmadYaml *value, gpointer where,
			    GError **error)
{
	char ***names = where;

	if (!web_read_texts(reader, value, names, error))
		return FALSE;
	for (guint i = 0; *names && (*names)[i]; i++) {
		const char *name = curve_name((*names)[i]);

		if (!name)
			return web_refuse(reader, g_ptr_array_index(value->children, i), error,
					  "this curve is not known here; there are CurveP256, "
					  "CurveP384, CurveP521 and X25519");
		g_free((*names)[i]);
		(*names)[i] = g_strdup(name);
	}
	return TRUE;
}

static gboolean pem_is_set(const WebPem *pem)
{
	return pem->text || pem->path;
}

static gboolean check_pem(const WebReader *reader, const RdmadYaml *map, const WebPem *pem,
			  const char *key, gboolean needed, GError **error)
{
	if (pem->text && pem->path)
		return web_refuse(reader, map, error, "both %s and %s_file: one is too many", key,
				  key);
	return pem_is_set(pem) || !needed ||
	       web_refuse(reader, map, error,
			  "%s_file is missing: TLS needs cert_file and key_file", key);
}

static gboolean check_clients(const WebReader *reader, const RdmadYaml *map, const WebTls *tls,
			      GError **error)
{
	const gboolean verifies = tls->client_auth == WEB_CLIENT_VERIFY ||
				  tls->client_auth == WEB_CLIENT_REQUIRE_VERIFY;
	const gboolean requires = tls->client_auth == WEB_CLIENT_REQUIRE ||
				  tls->client_auth == WEB_CLIENT_REQUIRE_VERIFY;

	if (pem_is_set(&tls->client_ca) && tls->client_auth == WEB_CLIENT_NONE)
		return web_refuse(reader, map, error,
				  "client_ca_file without a client_auth_type that asks for "
				  "certificates; RequireAndVerifyClientCert does");
	if (verifies && !pem_is_set(&tls->client_ca))
		return web_refuse(reader, map, error,
				  "client_auth_type verifies certificates, but no client_ca_file "
				  "says against what");
	if (tls->client_sans && !requires)
		return web_refuse(reader, map, error,
				  "client_allowed_sans needs a client_auth_type that requires a "
				  "certificate: RequireAndVerifyClientCert");
	return TRUE;
}

static gboolean check_tls(const WebReader *reader, const RdmadYaml *map, const WebTls *tls,
			  GError **error)
{
	if (!reader->config->has_tls)
		return TRUE;
	if (tls->min_version > tls->max_version)
		return web_refuse(reader, map, error, "min_version is above max_version");
	return check_pem(reader, map, &tls->cert, "cert", TRUE, error) &&
	       check_pem(reader, map, &tls->key, "key", TRUE, error) &&
	       check_pem(reader, map, &tls->client_ca, "client_ca", FALSE, error) &&
	       check_clients(reader, map, tls, error);
}

static gboolean any_is_set(const RdmadYaml *map)
{
	for (guint i = 0; i < map->children->len; i++)
		if (!rdmad_yaml_is_null(g_ptr_array_index(map->children, i)))
			return TRUE;
	return FALSE;
}

gboolean web_read_tls(WebReader *reader, const RdmadYaml *map, gpointer config, GError **error)
{
	static const WebKey keys[] = {
		{ "cert", web_read_text, G_STRUCT_OFFSET(WebTls, cert.text) },
		{ "key", web_read_text, G_STRUCT_OFFSET(WebTls, key.text) },
		{ "client_ca", web_read_text, G_STRUCT_OFFSET(WebTls, client_ca.text) },
		{ "cert_file", web_read_path, G_STRUCT_OFFSET(WebTls, cert.path) },
		{ "key_file", web_read_path, G_STRUCT_OFFSET(WebTls, key.path) },
		{ "client_ca_file", web_read_path, G_STRUCT_OFFSET(WebTls, client_ca.path) },
		{ "client_auth_type", read_client_auth, G_STRUCT_OFFSET(WebTls, client_auth) },
		{ "client_allowed_sans", web_read_texts, G_STRUCT_OFFSET(WebTls, client_sans) },
		{ "min_version", read_min_version, G_STRUCT_OFFSET(WebTls, min_version) },
		{ "max_version", read_max_version, G_STRUCT_OFFSET(WebTls, max_version) },
		{ "cipher_suites", read_ciphers, G_STRUCT_OFFSET(WebTls, ciphers) },
		{ "prefer_server_cipher_suites", web_read_boolean,
		  G_STRUCT_OFFSET(WebTls, prefer_server) },
		{ "curve_preferences", read_curves, G_STRUCT_OFFSET(WebTls, curves) },
	};
	WebTls *tls = &((WebConfig *)config)->tls;

	if (!web_read_group(reader, map, keys, G_N_ELEMENTS(keys), tls, error))
		return FALSE;
	/* Whoever says how wants it: without a certificate that is an error, and not plain text. */
	reader->config->has_tls = any_is_set(map);
	return check_tls(reader, map, tls, error);
}

static void pem_clear(WebPem *pem)
{
	if (pem->text)
		explicit_bzero(pem->text, strlen(pem->text));
	g_free(pem->text);
	g_free(pem->path);
}

void web_tls_clear(WebTls *tls)
{
	pem_clear(&tls->cert);
	pem_clear(&tls->key);
	pem_clear(&tls->client_ca);
	g_strfreev(tls->client_sans);
	g_strfreev(tls->ciphers);
	g_strfreev(tls->curves);
}
