/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/web-config.h"

#include <rdmad/error.h>
#include <string.h>

#include "http/access/bcrypt.h"
#include "http/access/web-value.h"

static void header_free(gpointer data)
{
	WebHeader *header = data;

	g_free(header->name);
	g_free(header->value);
	g_free(header);
}

/* ---- http_server_config ---- */

static gboolean read_http2(WebReader *reader, const RdmadYaml *value, gpointer where,
			   GError **error)
{
	gboolean wanted;

	/* Its default is true, and says only that it may be spoken. */
	return web_read_boolean(reader, value, &wanted, error);
}

/* Those that exporter-toolkit takes, with the values that it takes. */
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

static gboolean read_header(WebReader *reader, const RdmadYaml *value, GError **error)
{
	WebHeader *header;

	if (value->type != RDMAD_YAML_TEXT || !is_one_line(value->text))
		return web_refuse(reader, value, error, "here must be a text of one line");
	if (!header_is_known(value->key, value->text))
		return web_refuse(reader, value, error,
				  "headers here are Strict-Transport-Security, X-XSS-Protection, "
				  "Content-Security-Policy, X-Content-Type-Options (nosniff) and "
				  "X-Frame-Options (deny, sameorigin)");
	if (!*value->text)
		return TRUE;
	header = g_new0(WebHeader, 1);
	header->name = g_strdup(value->key);
	header->value = g_strdup(value->text);
	g_ptr_array_add(reader->config->headers, header);
	return TRUE;
}

static gboolean read_headers(WebReader *reader, const RdmadYaml *map, gpointer where,
			     GError **error)
{
	if (map->type != RDMAD_YAML_MAP)
		return web_refuse(reader, map, error, "here must be names and values of headers");
	for (guint i = 0; i < map->children->len; i++)
		if (!read_header(reader, g_ptr_array_index(map->children, i), error))
			return FALSE;
	return TRUE;
}

static gboolean read_http(WebReader *reader, const RdmadYaml *map, gpointer config, GError **error)
{
	static const WebKey keys[] = {
		{ "http2", read_http2 },
		{ "headers", read_headers },
	};

	return web_read_group(reader, map, keys, G_N_ELEMENTS(keys), config, error);
}

/* ---- rate_limit ---- */

static gboolean read_rate(WebReader *reader, const RdmadYaml *map, gpointer config, GError **error)
{
	static const WebKey keys[] = {
		{ "interval", web_read_duration, G_STRUCT_OFFSET(WebConfig, rate_interval_s) },
		{ "burst", web_read_count, G_STRUCT_OFFSET(WebConfig, rate_burst) },
	};
	const WebConfig *c = config;

	if (!web_read_group(reader, map, keys, G_N_ELEMENTS(keys), config, error))
		return FALSE;
	return c->rate_interval_s == 0 || c->rate_burst > 0 ||
	       web_refuse(reader, map, error, "without a burst no request would ever be served");
}

/* ---- basic_auth_users, auth_excluded_paths ---- */

static gboolean read_user(WebReader *reader, const RdmadYaml *value, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (strchr(value->key, ':'))
		return web_refuse(reader, value, error, "a name with a colon can not be sent");
	if (value->type != RDMAD_YAML_TEXT)
		return web_refuse(reader, value, error, "here must be a bcrypt hash");
	if (!rdmad_bcrypt_is_hash(value->text, &why))
		return web_refuse(reader, value, error, "%s", why->message);
	g_hash_table_insert(reader->config->users, g_strdup(value->key), g_strdup(value->text));
	return TRUE;
}

static gboolean read_users(WebReader *reader, const RdmadYaml *map, gpointer where, GError **error)
{
	if (map->type != RDMAD_YAML_MAP)
		return web_refuse(reader, map, error, "here must be names and bcrypt hashes");
	for (guint i = 0; i < map->children->len; i++)
		if (!read_user(reader, g_ptr_array_index(map->children, i), error))
			return FALSE;
	return TRUE;
}

static gboolean read_root(WebReader *reader, const RdmadYaml *root, GError **error)
{
	static const WebKey keys[] = {
		{ "tls_server_config", web_read_tls, 0 },
		{ "http_server_config", read_http, 0 },
		{ "rate_limit", read_rate, 0 },
		{ "basic_auth_users", read_users, 0 },
		{ "auth_excluded_paths", web_read_texts, G_STRUCT_OFFSET(WebConfig, open_paths) },
	};

	return rdmad_yaml_is_null(root) ||
	       web_read_group(reader, root, keys, G_N_ELEMENTS(keys), reader->config, error);
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
	WebReader reader = { path, config };
	g_autoptr(GError) problem = NULL;
	g_autoptr(GPtrArray) documents = rdmad_yaml_parse(path, text, size, &problem);

	if (!documents) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, problem->message);
		return NULL;
	}
	if (documents->len > 1) {
		web_refuse(&reader, g_ptr_array_index(documents, 1), error,
			   "a second document: there must be one");
		return NULL;
	}
	if (documents->len && !read_root(&reader, g_ptr_array_index(documents, 0), error))
		return NULL;
	return g_steal_pointer(&config);
}

void web_config_free(WebConfig *config)
{
	if (!config)
		return;
	web_tls_clear(&config->tls);
	g_ptr_array_unref(config->headers);
	g_hash_table_unref(config->users);
	g_strfreev(config->open_paths);
	g_ptr_array_unref(config->notes);
	g_free(config);
}
