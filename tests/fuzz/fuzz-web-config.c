/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is rejected with its line, or becomes a usable configuration. */
#include <rdmad/error.h>
#include <stdint.h>
#include <string.h>

#include "http/access/bcrypt.h"
#include "http/access/web-config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gboolean is_set(const WebPem *pem)
{
	return !pem->text != !pem->path;
}

static void check_tls(const WebConfig *config)
{
	const WebTls *tls = &config->tls;

	g_assert_true(tls->min_version >= 12 && tls->min_version <= tls->max_version);
	g_assert_true(tls->max_version <= 13);
	g_assert_true(is_set(&tls->cert) && is_set(&tls->key));
	g_assert_true(tls->client_auth < WEB_CLIENT_VERIFY || is_set(&tls->client_ca));
}

static void check_users(const WebConfig *config)
{
	GHashTableIter iter;
	gpointer name, hash;

	g_hash_table_iter_init(&iter, config->users);
	while (g_hash_table_iter_next(&iter, &name, &hash)) {
		g_assert_null(strchr(name, ':'));
		g_assert_true(rdmad_bcrypt_is_hash(hash, NULL));
	}
}

/* Each mistake has one line. */
static void check_error(const GError *error)
{
	g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);

	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	for (char **line = lines; *line; line++)
		g_assert_true(g_str_has_prefix(*line, "/w.yml:"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(WebConfig) config =
		web_config_parse("/w.yml", size ? (const char *)data : "", size, &error);

	if (!config) {
		check_error(error);
		return 0;
	}
	g_assert_no_error(error);
	if (config->has_tls)
		check_tls(config);
	check_users(config);
	for (guint i = 0; i < config->headers->len; i++)
		g_assert_null(strpbrk(((WebHeader *)config->headers->pdata[i])->value, "\r\n"));
	g_assert_true(config->rate_interval_s >= 0 && config->rate_interval_s <= 3600);
	return 0;
}
