/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "http"

#include "http/access/web.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "http/server.h"

#define CHECK_US 1000000 /* minimum time between two checks */
#define FILE_MAX (1u << 20)

/* Identifies the contents of a file without reading it. */
typedef struct {
	dev_t device;
	ino_t inode;
	off_t size;
	mode_t mode;
	struct timespec modified, changed;
} WebStamp;

/* ---- files ---- */

static gboolean file_error(const char *path, const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s: %s", path, why);
	return FALSE;
}

/* Only an errno that cannot pass is an error of the file. */
static gboolean file_errno(const char *path, GError **error)
{
	return rdmad_errno_may_pass(errno) ? rdmad_error_errno(error, errno, "%s", path)
					   : file_error(path, g_strerror(errno), error);
}

static void stamp_set(WebStamp *stamp, const struct stat *st)
{
	*stamp = (WebStamp){ st->st_dev,  st->st_ino,  st->st_size,
			     st->st_mode, st->st_mtim, st->st_ctim };
}

/* Sets the stamp to zeros if there is no such file. */
static void file_stamp(const char *path, WebStamp *stamp)
{
	struct stat st;

	*stamp = (WebStamp){ 0 };
	if (stat(path, &st) == 0)
		stamp_set(stamp, &st);
}

static gboolean file_is_good(int fd, const char *path, struct stat *st, GError **error)
{
	if (fstat(fd, st) < 0)
		return file_errno(path, error);
	return S_ISREG(st->st_mode) || file_error(path, "not a regular file", error);
}

/* Returns the contents with a NUL.  Sets `stamp` also after an error, to that of the unreadable
 * file.  RDMAD_ERROR_CONFIG; RDMAD_ERROR_FAILED says nothing about the file. */
static char *file_read(const char *path, gsize *size, WebStamp *stamp, GError **error)
{
	/* Without O_NONBLOCK, opening a FIFO would block until it has a writer. */
	g_autoptr(GString) text = g_string_new(NULL);
	rdmad_autofd int fd = -1;
	struct stat st;

	file_stamp(path, stamp);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		file_errno(path, error);
		return NULL;
	}
	if (!file_is_good(fd, path, &st, error))
		return NULL;
	if (!rdmad_fd_read_all(fd, FILE_MAX, text)) {
		file_errno(path, error);
		return NULL;
	}
	if (text->len > FILE_MAX) {
		file_error(path, "larger than 1 MiB", error);
		return NULL;
	}
	*size = text->len;
	stamp_set(stamp, &st);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean stamp_equal(const WebStamp *a, const WebStamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* The files, in the order in which they are read. */
enum { FILE_CONFIG, FILE_CERT, FILE_KEY, FILE_CA, N_FILES };

/* One reading of the files. */
typedef struct {
	WebConfig *config;
	gpointer tls; /* of the HttpTlsClass; NULL without TLS */
	char *paths[N_FILES];
	WebStamp stamps[N_FILES];
} Reading;

struct HttpWeb {
	int refs;
	RdmadHttp *http;
	char *path;
	Reading *now;
	HttpUsers *users; /* NULL: no passwords */
	RdmadBucket bucket;
	gint64 checked_us;
	char *error;
	/* Files that caused `error`, which are not read again until one of them changes.  All NULL:
	 * they are read at each check. */
	char *bad_paths[N_FILES];
	WebStamp bad_stamps[N_FILES];
};

/* ---- reading ---- */

static void reading_free(RdmadHttp *http, Reading *reading)
{
	if (!reading)
		return;
	if (reading->tls)
		http->tls->context_free(reading->tls);
	web_config_free(reading->config);
	for (guint i = 0; i < N_FILES; i++)
		g_free(reading->paths[i]);
	g_free(reading);
}

static void secret_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	g_free(text);
}

/* Returns the PEM text in the configuration or in its file; NULL without an error if neither is
 * configured. */
static char *reading_pem(Reading *reading, guint which, const WebPem *pem, GError **error)
{
	gsize size;

	if (pem->text)
		return g_strdup(pem->text);
	if (!pem->path)
		return NULL;
	reading->paths[which] = g_strdup(pem->path);
	return file_read(pem->path, &size, &reading->stamps[which], error);
}

static gboolean reading_make_tls(RdmadHttp *http, Reading *reading, GError **error)
{
	const WebTls *config = &reading->config->tls;
	g_autoptr(GError) problem = NULL;
	g_autofree char *cert = reading_pem(reading, FILE_CERT, &config->cert, &problem);
	char *key = problem ? NULL : reading_pem(reading, FILE_KEY, &config->key, &problem);
	g_autofree char *ca =
		problem ? NULL : reading_pem(reading, FILE_CA, &config->client_ca, &problem);
	const char *path = reading->paths[FILE_CONFIG];
	const HttpTlsPems pems = {
		.cert = cert,
		.key = key,
		.client_ca = ca,
		.cert_place = config->cert.path ?: path,
		.key_place = config->key.path ?: path,
		.ca_place = config->client_ca.path ?: path,
	};

	if (!problem)
		reading->tls = http->tls->context_new(config, &pems, &problem);
	secret_free(key);
	if (problem)
		g_propagate_error(error, g_steal_pointer(&problem));
	return reading->tls != NULL;
}

static gboolean config_has_users(const WebConfig *config)
{
	return g_hash_table_size(config->users) > 0;
}

/* Loads the parts of rdmad that the configuration needs. */
static gboolean load_parts(RdmadHttp *http, const WebConfig *config, GError **error)
{
	if (config->has_tls && !http->tls)
		http->tls = http->load(HTTP_TLS_OBJECT, HTTP_TLS_SYMBOL, http->load_data, error);
	if (config->has_tls && !http->tls)
		return FALSE;
	if (config_has_users(config) && !http->crypt)
		http->crypt =
			http->load(HTTP_CRYPT_OBJECT, HTTP_CRYPT_SYMBOL, http->load_data, error);
	return !config_has_users(config) || http->crypt;
}

static gboolean reading_read(RdmadHttp *http, Reading *reading, GError **error)
{
	const char *path = reading->paths[FILE_CONFIG];
	gsize size;
	char *text = file_read(path, &size, &reading->stamps[FILE_CONFIG], error);

	if (!text)
		return FALSE;
	reading->config = web_config_parse(path, text, size, error);
	secret_free(text);
	if (!reading->config)
		return FALSE;
	return load_parts(http, reading->config, error) &&
	       (!reading->config->has_tls || reading_make_tls(http, reading, error));
}

static Reading *reading_new(const char *path)
{
	Reading *reading = g_new0(Reading, 1);

	reading->paths[FILE_CONFIG] = g_strdup(path);
	return reading;
}

static void reading_log_notes(const Reading *reading)
{
	const GPtrArray *notes = reading->config->notes;
	const guint key = reading->config->tls.key.text ? FILE_CONFIG : FILE_KEY;

	if (reading->config->has_tls && (reading->stamps[key].mode & S_IROTH))
		rdmad_warn("%s: every user of the node may read this key; chmod o-r",
			   reading->paths[key]);
	for (guint i = 0; i < notes->len; i++)
		rdmad_notice("%s", (const char *)notes->pdata[i]);
}

gboolean rdmad_http_web_config_check(RdmadHttp *http, const char *path, GError **error)
{
	Reading *reading = reading_new(path);
	const gboolean good = reading_read(http, reading, error);

	reading_free(http, reading);
	return good;
}

/* ---- in use ---- */

static gboolean config_wants_certificates(const WebConfig *config)
{
	return config->tls.client_auth == WEB_CLIENT_REQUIRE ||
	       config->tls.client_auth == WEB_CLIENT_REQUIRE_VERIFY;
}

static void web_take(HttpWeb *web, Reading *reading)
{
	const WebConfig *config = reading->config;
	HttpUsers *before = g_steal_pointer(&web->users);

	if (config_has_users(config))
		web->users =
			http_users_new(web->http->workers, web->http->crypt, config->users, before);
	http_users_free(before);
	if (config->rate_interval_s > 0)
		rdmad_bucket_init(&web->bucket, config->rate_burst,
				  MAX(config->rate_interval_s * G_USEC_PER_SEC, 1), rdmad_now_us());
	reading_free(web->http, web->now);
	web->now = reading;
	reading_log_notes(reading);
}

static void web_clear_error(HttpWeb *web)
{
	g_clear_pointer(&web->error, g_free);
	for (guint i = 0; i < N_FILES; i++)
		g_clear_pointer(&web->bad_paths[i], g_free);
}

/* Another error than RDMAD_ERROR_CONFIG may pass without a change of the files: without stamps,
 * each check reads them. */
static void web_keep_error(HttpWeb *web, Reading *reading, const GError *error)
{
	const gboolean lasts = g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);

	if (lasts || g_strcmp0(web->error, error->message))
		rdmad_err("the previous web configuration stays: %s", error->message);
	web_clear_error(web);
	web->error = g_strdup(error->message);
	for (guint i = 0; lasts && i < N_FILES; i++) {
		web->bad_paths[i] = g_steal_pointer(&reading->paths[i]);
		web->bad_stamps[i] = reading->stamps[i];
	}
}

/* Returns why the change needs a restart, or NULL.  The first half of a file may be valid YAML, so
 * a configuration without TLS or passwords may be incomplete. */
static const char *restart_reason(const WebConfig *now, const WebConfig *next)
{
	if (now->has_tls != next->has_tls)
		return "TLS is turned on or off by a restart only";
	if (config_has_users(now) && !config_has_users(next))
		return "removing the last password needs a restart";
	if (config_wants_certificates(now) && !config_wants_certificates(next))
		return "no longer requiring client certificates needs a restart";
	if (now->tls.client_sans && !next->tls.client_sans)
		return "no longer checking clients' names needs a restart";
	return NULL;
}

static gboolean web_may_become(const HttpWeb *web, const Reading *reading, GError **error)
{
	const char *why = restart_reason(web->now->config, reading->config);

	if (why)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s: %s", web->path, why);
	return !why;
}

static void web_read_again(HttpWeb *web)
{
	g_autoptr(GError) error = NULL;
	Reading *reading = reading_new(web->path);

	if (reading_read(web->http, reading, &error) && web_may_become(web, reading, &error)) {
		web_clear_error(web);
		rdmad_notice("%s: new values are in use", web->path);
		web_take(web, reading);
		return;
	}
	web_keep_error(web, reading, error);
	reading_free(web->http, reading);
}

static gboolean any_changed(char *const *paths, const WebStamp *stamps)
{
	for (guint i = 0; i < N_FILES; i++) {
		WebStamp stamp;

		if (!paths[i])
			continue;
		file_stamp(paths[i], &stamp);
		if (!stamp_equal(&stamp, &stamps[i]))
			return TRUE;
	}
	return FALSE;
}

static gboolean web_is_outdated(const HttpWeb *web)
{
	if (!web->error)
		return any_changed(web->now->paths, web->now->stamps);
	return !web->bad_paths[FILE_CONFIG] || any_changed(web->bad_paths, web->bad_stamps);
}

void http_web_refresh(HttpWeb *web)
{
	const gint64 now = rdmad_now_us();

	if (now - web->checked_us < CHECK_US)
		return;
	web->checked_us = now;
	if (web_is_outdated(web))
		web_read_again(web);
}

static HttpWeb *web_find(const RdmadHttp *http, const char *path)
{
	for (guint i = 0; i < http->webs->len; i++) {
		HttpWeb *web = g_ptr_array_index(http->webs, i);

		if (g_str_equal(web->path, path))
			return web;
	}
	return NULL;
}

HttpWeb *http_web_open(RdmadHttp *http, const char *path, GError **error)
{
	HttpWeb *web = web_find(http, path);
	Reading *reading;

	if (web) {
		web->refs++;
		return web;
	}
	reading = reading_new(path);
	if (!reading_read(http, reading, error)) {
		reading_free(http, reading);
		return NULL;
	}
	web = g_new0(HttpWeb, 1);
	web->refs = 1;
	web->http = http;
	web->path = g_strdup(path);
	web->checked_us = rdmad_now_us();
	web_take(web, reading);
	g_ptr_array_add(http->webs, web);
	return web;
}

void http_web_close(HttpWeb *web)
{
	if (!web || --web->refs)
		return;
	g_ptr_array_remove(web->http->webs, web);
	http_users_free(web->users);
	reading_free(web->http, web->now);
	web_clear_error(web);
	g_free(web->path);
	g_free(web);
}

/* ---- status ---- */

gboolean http_web_has_tls(const HttpWeb *web)
{
	return web->now->config->has_tls;
}

gboolean http_web_wants_certificates(const HttpWeb *web)
{
	return config_wants_certificates(web->now->config);
}

HttpTransport *http_web_transport(HttpWeb *web, int fd)
{
	if (!web->now->tls)
		return http_transport_plain(fd);
	return web->http->tls->transport_new(web->now->tls, fd);
}

const GPtrArray *http_web_headers(const HttpWeb *web)
{
	return web->now->config->headers;
}

gboolean http_web_admits(HttpWeb *web)
{
	return web->now->config->rate_interval_s == 0 ||
	       rdmad_bucket_take(&web->bucket, rdmad_now_us());
}

HttpUsers *http_web_users(HttpWeb *web, const char *path)
{
	char *const *open_paths = web->now->config->open_paths;

	if (open_paths && g_strv_contains((const char *const *)open_paths, path))
		return NULL;
	return web->users;
}

gboolean http_web_has_users(const HttpWeb *web)
{
	return web->users != NULL;
}

const char *http_web_path(const HttpWeb *web)
{
	return web->path;
}

const char *http_web_error(const HttpWeb *web)
{
	return web->error;
}
