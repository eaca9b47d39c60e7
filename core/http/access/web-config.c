/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/web-config.h"

#include <rdmad/config.h>
#include <rdmad/error.h>
#include <string.h>

#include "config/tree.h"
#include "http/access/bcrypt.h"

#define INTERVAL_MAX_S 3600
#define BURST_MAX      1000000
#define PEM_MAX	       (1 << 20)

/* ---- tls_server_config: the names are those of Go's crypto/tls ---- */

/* https://pkg.go.dev/crypto/tls#CipherSuites, from Go 1.19, with which Debian's exporters are
 * built, to the current version.  Suites of TLS 1.3 are accepted, and always enabled. */
static const char *const cipher_suites[] = {
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

/* client_auth_values has their meanings.  "" is a key without a value. */
static const char *const client_auths[] = {
	"NoClientCert",
	"RequestClientCert",
	"RequireAnyClientCert",
	"VerifyClientCertIfGiven",
	"RequireAndVerifyClientCert",
	"RequireClientCert",
	"",
	NULL,
};
static const WebClientAuth client_auth_values[] = {
	WEB_CLIENT_NONE,	   WEB_CLIENT_REQUEST, WEB_CLIENT_REQUIRE, WEB_CLIENT_VERIFY,
	WEB_CLIENT_REQUIRE_VERIFY, WEB_CLIENT_REQUIRE, WEB_CLIENT_NONE,
};

/* The index is the minor version. */
#define VERSION_OF(index) (10 + (index))
static const char *const versions[] = { "TLS10", "TLS11", "TLS12", "TLS13", NULL };

static gboolean check_cipher(const char *name, GError **error)
{
	if (g_strv_contains(cipher_suites, name))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "not one of Go's secure cipher suites");
	return FALSE;
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

static gboolean check_curve(const char *name, GError **error)
{
	if (curve_name(name))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "unknown curve; known are CurveP256, CurveP384, CurveP521 and "
		    "X25519");
	return FALSE;
}

static gboolean pem_is_set(const WebPem *pem)
{
	return pem->text || pem->path;
}

static gboolean check_pem(const RdmadConfigNode *map, const WebPem *pem, const char *key,
			  gboolean needed, GError **error)
{
	if (pem->text && pem->path)
		return rdmad_config_error(map, NULL, error, "both %s and %s_file: one is too many",
					  key, key);
	return pem_is_set(pem) || !needed ||
	       rdmad_config_error(map, NULL, error,
				  "%s_file is missing: TLS needs cert_file and key_file", key);
}

static gboolean check_clients(const RdmadConfigNode *map, const WebTls *tls, GError **error)
{
	const gboolean verifies = tls->client_auth == WEB_CLIENT_VERIFY ||
				  tls->client_auth == WEB_CLIENT_REQUIRE_VERIFY;
	const gboolean requires = tls->client_auth == WEB_CLIENT_REQUIRE ||
				  tls->client_auth == WEB_CLIENT_REQUIRE_VERIFY;

	if (pem_is_set(&tls->client_ca) && tls->client_auth == WEB_CLIENT_NONE)
		return rdmad_config_error(map, NULL, error,
					  "client_ca_file without a client_auth_type that asks for "
					  "certificates; RequireAndVerifyClientCert does");
	if (verifies && !pem_is_set(&tls->client_ca))
		return rdmad_config_error(
			map, NULL, error,
			"client_auth_type verifies certificates, but no client_ca_file "
			"says against what");
	if (tls->client_sans && !requires)
		return rdmad_config_error(
			map, NULL, error,
			"client_allowed_sans needs a client_auth_type that requires a "
			"certificate: RequireAndVerifyClientCert");
	return TRUE;
}

static gboolean check_tls(const RdmadConfigNode *map, const WebTls *tls, GError **error)
{
	if (tls->min_version > tls->max_version)
		return rdmad_config_error(map, NULL, error, "min_version is above max_version");
	return check_pem(map, &tls->cert, "cert", TRUE, error) &&
	       check_pem(map, &tls->key, "key", TRUE, error) &&
	       check_pem(map, &tls->client_ca, "client_ca", FALSE, error) &&
	       check_clients(map, tls, error);
}

static void text_settle(char **text)
{
	if (*text && !**text)
		g_clear_pointer(text, g_free);
}

static void texts_settle(char ***texts)
{
	if (*texts && !**texts)
		g_clear_pointer(texts, g_strfreev);
}

static void pem_settle(WebPem *pem, const char *path)
{
	g_autofree char *directory = g_path_get_dirname(path);
	g_autofree char *given = NULL;

	text_settle(&pem->text);
	text_settle(&pem->path);
	if (!pem->path || g_path_is_absolute(pem->path))
		return;
	given = g_steal_pointer(&pem->path);
	pem->path = g_build_filename(directory, given, NULL);
}

/* Normalizes empty values and Go's names. */
static void tls_settle(WebTls *tls, const char *path)
{
	pem_settle(&tls->cert, path);
	pem_settle(&tls->key, path);
	pem_settle(&tls->client_ca, path);
	texts_settle(&tls->client_sans);
	texts_settle(&tls->ciphers);
	texts_settle(&tls->curves);
	for (char **curve = tls->curves; curve && *curve; curve++) {
		const char *name = curve_name(*curve);

		g_free(*curve);
		*curve = g_strdup(name);
	}
}

static gboolean take_versions(WebConfig *config, const RdmadConfigNode *map, int min, int max,
			      GError **error)
{
	const RdmadConfigNode *where = rdmad_config_node_find(map, "min_version");

	config->tls.min_version = MAX(VERSION_OF(min), 12);
	config->tls.max_version = VERSION_OF(max);
	if (VERSION_OF(min) < 12)
		g_ptr_array_add(config->notes,
				g_strdup_printf("%s:%u: TLS 1.2 is the oldest supported version",
						where->file, where->line));
	return config->tls.max_version >= 12 ||
	       rdmad_config_error(map, "max_version", error,
				  "TLS 1.2 is the oldest supported version");
}

static gboolean any_is_set(const RdmadConfigNode *map)
{
	for (guint i = 0; i < map->children->len; i++)
		if (((const RdmadConfigNode *)map->children->pdata[i])->kind !=
		    RDMAD_CONFIG_KIND_NOTHING)
			return TRUE;
	return FALSE;
}

/* Values as in the file; versions and client authentication as indexes into the tables. */
typedef struct {
	WebTls tls;
	int client_auth, min, max;
} TlsGroup;

#define PEM_FIELD(k, member_)                                                                      \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_STRING,                                           \
		.offset = G_STRUCT_OFFSET(TlsGroup, tls.member_.text), .max = PEM_MAX              \
	}
#define CHECKED_STRINGS_FIELD(k, member_, check_)                                                  \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_STRINGS,                                          \
		.offset = G_STRUCT_OFFSET(TlsGroup, tls.member_), .check = (check_)                \
	}

static const RdmadConfigField tls_fields[] = {
	PEM_FIELD("cert", cert),
	PEM_FIELD("key", key),
	PEM_FIELD("client_ca", client_ca),
	RDMAD_CONFIG_STRING_FIELD("cert_file", TlsGroup, tls.cert.path),
	RDMAD_CONFIG_STRING_FIELD("key_file", TlsGroup, tls.key.path),
	RDMAD_CONFIG_STRING_FIELD("client_ca_file", TlsGroup, tls.client_ca.path),
	RDMAD_CONFIG_ENUM_FIELD("client_auth_type", TlsGroup, client_auth, client_auths),
	CHECKED_STRINGS_FIELD("client_allowed_sans", client_sans, NULL),
	RDMAD_CONFIG_ENUM_FIELD("min_version", TlsGroup, min, versions),
	RDMAD_CONFIG_ENUM_FIELD("max_version", TlsGroup, max, versions),
	CHECKED_STRINGS_FIELD("cipher_suites", ciphers, check_cipher),
	RDMAD_CONFIG_BOOL_FIELD("prefer_server_cipher_suites", TlsGroup, tls.prefer_server),
	CHECKED_STRINGS_FIELD("curve_preferences", curves, check_curve),
	RDMAD_CONFIG_FIELDS_END,
};

static gboolean read_tls(WebConfig *config, const char *path, const RdmadConfigNode *map,
			 GError **error)
{
	TlsGroup group = { .tls = config->tls, .min = 2, .max = 3 };
	gboolean good;

	if (!map)
		return TRUE;
	good = rdmad_config_parse(map, tls_fields, &group, error);
	tls_settle(&group.tls, path);
	config->tls = group.tls;
	config->tls.client_auth = client_auth_values[group.client_auth];
	if (!good || !take_versions(config, map, group.min, group.max, error))
		return FALSE;
	/* A TLS setting without a certificate is an error, instead of disabling TLS. */
	config->has_tls = any_is_set(map);
	return !config->has_tls || check_tls(map, &config->tls, error);
}

static void pem_clear(WebPem *pem)
{
	if (pem->text)
		explicit_bzero(pem->text, strlen(pem->text));
	g_free(pem->text);
	g_free(pem->path);
}

static void tls_clear(WebTls *tls)
{
	pem_clear(&tls->cert);
	pem_clear(&tls->key);
	pem_clear(&tls->client_ca);
	g_strfreev(tls->client_sans);
	g_strfreev(tls->ciphers);
	g_strfreev(tls->curves);
}

/* ---- http_server_config ---- */

static void header_free(gpointer data)
{
	WebHeader *header = data;

	g_free(header->name);
	g_free(header->value);
	g_free(header);
}

/* Returns whether exporter-toolkit accepts the header with this value. */
static gboolean header_is_known(const char *name, const char *value)
{
	if (g_str_equal(name, "X-Content-Type-Options"))
		return g_str_equal(value, "nosniff");
	if (g_str_equal(name, "X-Frame-Options"))
		return g_str_equal(value, "deny") || g_str_equal(value, "sameorigin");
	return g_str_equal(name, "Strict-Transport-Security") ||
	       g_str_equal(name, "X-XSS-Protection") ||
	       g_str_equal(name, "Content-Security-Policy");
}

static gboolean is_one_line(const char *text)
{
	for (; *text; text++)
		if (g_ascii_iscntrl(*text))
			return FALSE;
	return TRUE;
}

static gboolean read_header(WebConfig *config, const RdmadConfigNode *node, GError **error)
{
	const char *value = node->kind == RDMAD_CONFIG_KIND_NOTHING ? "" : node->string;
	WebHeader *header;

	if (!value || !is_one_line(value))
		return rdmad_config_error(node, NULL, error, "expected a text of one line");
	if (!header_is_known(node->name, value))
		return rdmad_config_error(node, NULL, error,
					  "headers here are Strict-Transport-Security, "
					  "X-XSS-Protection, Content-Security-Policy, "
					  "X-Content-Type-Options (nosniff) and X-Frame-Options "
					  "(deny, sameorigin)");
	if (!*value)
		return TRUE;
	header = g_new0(WebHeader, 1);
	header->name = g_strdup(node->name);
	header->value = g_strdup(value);
	g_ptr_array_add(config->headers, header);
	return TRUE;
}

typedef gboolean (*ReadEntryFunc)(WebConfig *config, const RdmadConfigNode *node, GError **error);

/* Reads a map whose keys are names of the user; `map` may be NULL. */
static gboolean read_map(WebConfig *config, const RdmadConfigNode *map, ReadEntryFunc read,
			 GError **error)
{
	for (guint i = 0; map && i < map->children->len; i++)
		if (!read(config, map->children->pdata[i], error))
			return FALSE;
	return TRUE;
}

typedef struct {
	gboolean http2; /* its default is true, which only allows HTTP/2 */
	const RdmadConfigNode *headers;
} HttpGroup;

static gboolean read_http(WebConfig *config, const RdmadConfigNode *map, GError **error)
{
	static const RdmadConfigField fields[] = {
		RDMAD_CONFIG_BOOL_FIELD("http2", HttpGroup, http2),
		RDMAD_CONFIG_GROUP_FIELD("headers", HttpGroup, headers),
		RDMAD_CONFIG_FIELDS_END,
	};
	HttpGroup group = { 0 };

	return rdmad_config_parse(map, fields, &group, error) &&
	       read_map(config, group.headers, read_header, error);
}

/* ---- rate_limit ---- */

/* Parses Go's format, "1m30s"; returns -1 if it is invalid. */
static double parse_duration(const char *text)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "µs", 1e-6 }, { "ms", 1e-3 },
		      { "s", 1 },     { "m", 60 },    { "h", 3600 } };
	double sum = 0;

	if (g_str_equal(text, "0"))
		return 0;
	do {
		gsize i = 0;
		double number;

		if (!g_ascii_isdigit(*text) || g_ascii_tolower(text[1]) == 'x')
			return -1;
		number = g_ascii_strtod(text, (char **)&text);
		while (i < G_N_ELEMENTS(units) && !g_str_has_prefix(text, units[i].unit))
			i++;
		if (i == G_N_ELEMENTS(units))
			return -1;
		sum += number * units[i].seconds;
		text += strlen(units[i].unit);
	} while (*text);
	return sum;
}

static gboolean check_interval(const char *text, GError **error)
{
	const double seconds = parse_duration(text);

	/* The upper limit excludes infinity. */
	if (seconds >= 0 && seconds <= INTERVAL_MAX_S)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "expected a time up to 1h, as 250ms, 5s or 1m30s");
	return FALSE;
}

typedef struct {
	char *interval;
	gint64 burst;
} RateGroup;

static gboolean read_rate(WebConfig *config, const RdmadConfigNode *map, GError **error)
{
	static const RdmadConfigField fields[] = {
		{ .key = "interval",
		  .type = RDMAD_CONFIG_STRING,
		  .offset = G_STRUCT_OFFSET(RateGroup, interval),
		  .check = check_interval },
		RDMAD_CONFIG_INT_FIELD("burst", RateGroup, burst, 0, BURST_MAX),
		RDMAD_CONFIG_FIELDS_END,
	};
	RateGroup group = { 0 };
	const gboolean good = rdmad_config_parse(map, fields, &group, error);
	g_autofree char *interval = group.interval;

	if (!good)
		return FALSE;
	config->rate_interval_s = interval ? parse_duration(interval) : 0;
	config->rate_burst = (gint)group.burst;
	return config->rate_interval_s == 0 || config->rate_burst > 0 ||
	       rdmad_config_error(map, NULL, error, "burst must be above 0 with an interval");
}

/* ---- basic_auth_users ---- */

static gboolean read_user(WebConfig *config, const RdmadConfigNode *node, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (strchr(node->name, ':'))
		return rdmad_config_error(node, NULL, error, "a name with a colon can not be sent");
	if (!node->string)
		return rdmad_config_error(node, NULL, error, "expected a bcrypt hash");
	if (!rdmad_bcrypt_is_hash(node->string, &why))
		return rdmad_config_error(node, NULL, error, "%s", why->message);
	g_hash_table_insert(config->users, g_strdup(node->name), g_strdup(node->string));
	return TRUE;
}

/* ---- the whole file ---- */

typedef struct {
	const RdmadConfigNode *tls, *http, *rate, *users;
	char **open_paths;
} RootGroup;

static gboolean read_root(WebConfig *config, const char *path, const RdmadConfigNode *root,
			  GError **error)
{
	static const RdmadConfigField fields[] = {
		RDMAD_CONFIG_GROUP_FIELD("tls_server_config", RootGroup, tls),
		RDMAD_CONFIG_GROUP_FIELD("http_server_config", RootGroup, http),
		RDMAD_CONFIG_GROUP_FIELD("rate_limit", RootGroup, rate),
		RDMAD_CONFIG_GROUP_FIELD("basic_auth_users", RootGroup, users),
		RDMAD_CONFIG_STRINGS_FIELD("auth_excluded_paths", RootGroup, open_paths),
		RDMAD_CONFIG_FIELDS_END,
	};
	RootGroup group = { 0 };
	const gboolean good = rdmad_config_parse(root, fields, &group, error);

	config->open_paths = group.open_paths;
	texts_settle(&config->open_paths);
	return good && read_tls(config, path, group.tls, error) &&
	       read_http(config, group.http, error) && read_rate(config, group.rate, error) &&
	       read_map(config, group.users, read_user, error);
}

static WebConfig *config_new(void)
{
	WebConfig *config = g_new0(WebConfig, 1);

	config->tls.min_version = 12;
	config->tls.max_version = 13;
	config->tls.prefer_server = TRUE;
	config->headers = g_ptr_array_new_with_free_func(header_free);
	config->users = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	config->notes = g_ptr_array_new_with_free_func(g_free);
	return config;
}

WebConfig *web_config_parse(const char *path, const char *text, gsize size, GError **error)
{
	g_autoptr(WebConfig) config = config_new();
	g_autoptr(GError) problem = NULL;
	g_autoptr(RdmadConfigNode) root = rdmad_config_yaml_parse(path, text, size, &problem);

	if (problem) {
		g_propagate_error(error, g_steal_pointer(&problem));
		return NULL;
	}
	if (root && root->kind != RDMAD_CONFIG_KIND_NOTHING &&
	    !read_root(config, path, root, error))
		return NULL;
	return g_steal_pointer(&config);
}

void web_config_free(WebConfig *config)
{
	if (!config)
		return;
	tls_clear(&config->tls);
	g_ptr_array_unref(config->headers);
	g_hash_table_unref(config->users);
	g_strfreev(config->open_paths);
	g_ptr_array_unref(config->notes);
	g_free(config);
}
