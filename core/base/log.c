/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <rdmad/clock.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log-output.h"

/* The rate limit of each call site.  Debug lines are not limited. */
#define SITE_WINDOW_US (5 * G_USEC_PER_SEC)
#define SITE_LINES     20u

/* The log of the process.  The lock is static, so that any thread may log first.  It is a
 * pthread_mutex_t because the thread sanitizer does not understand GMutex. */
static struct {
	pthread_mutex_t lock;
	RdmadLogLevel level;
	GHashTable *topics; /* topic -> level, or NULL */
	RdmadLogOutput output;
	int max_level; /* of all topics; atomic, read without the lock */
} the_log = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.level = RDMAD_LOG_INFO,
	.output = { .format = RDMAD_LOG_TEXT, .fd = STDERR_FILENO, .journal = -1 },
	.max_level = RDMAD_LOG_INFO,
};

const char *const rdmad_log_format_names[] = { "auto", "text", "json", "journal", NULL };

static const struct {
	const char *name;
	RdmadLogLevel level;
} levels[] = {
	{ "error", RDMAD_LOG_ERR },	{ "warning", RDMAD_LOG_WARNING },
	{ "notice", RDMAD_LOG_NOTICE }, { "info", RDMAD_LOG_INFO },
	{ "debug", RDMAD_LOG_DEBUG },
};

gboolean rdmad_log_parse_level(const char *text, RdmadLogLevel *level)
{
	for (gsize i = 0; i < G_N_ELEMENTS(levels); i++) {
		if (g_str_equal(levels[i].name, text) ||
		    (levels[i].level == RDMAD_LOG_WARNING && g_str_equal(text, "warn"))) {
			*level = levels[i].level;
			return TRUE;
		}
	}
	return FALSE;
}

const char *rdmad_log_level_name(RdmadLogLevel level)
{
	for (gsize i = 0; i < G_N_ELEMENTS(levels); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "debug";
}

static GHashTable *topics_copy(GHashTable *topics, int *max_level)
{
	GHashTable *copy = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	gpointer topic, level;
	GHashTableIter iter;

	g_hash_table_iter_init(&iter, topics);
	while (g_hash_table_iter_next(&iter, &topic, &level)) {
		g_hash_table_insert(copy, g_strdup(topic), level);
		*max_level = MAX(*max_level, GPOINTER_TO_INT(level));
	}
	return copy;
}

void rdmad_log_setup(RdmadLogLevel level, RdmadLogFormat format, GHashTable *topics)
{
	int max_level = (int)level;
	GHashTable *copy = topics ? topics_copy(topics, &max_level) : NULL;

	rdmad_log_redirect_glib();
	pthread_mutex_lock(&the_log.lock);
	the_log.level = level;
	g_clear_pointer(&the_log.topics, g_hash_table_unref);
	the_log.topics = copy;
	rdmad_log_output_clear(&the_log.output);
	rdmad_log_output_init(&the_log.output, format, STDERR_FILENO, RDMAD_LOG_JOURNAL_SOCKET,
			      g_getenv("JOURNAL_STREAM"));
	g_atomic_int_set(&the_log.max_level, max_level);
	pthread_mutex_unlock(&the_log.lock);
}

gboolean rdmad_log_enabled(const char *topic, RdmadLogLevel level)
{
	gpointer own = NULL;
	RdmadLogLevel limit;

	if ((int)level > g_atomic_int_get(&the_log.max_level))
		return FALSE;
	pthread_mutex_lock(&the_log.lock);
	limit = the_log.level;
	if (the_log.topics && g_hash_table_lookup_extended(the_log.topics, topic, NULL, &own))
		limit = (RdmadLogLevel)GPOINTER_TO_INT(own);
	pthread_mutex_unlock(&the_log.lock);
	return level <= limit;
}

/* Called with the lock held.  `suppressed` gets the number of suppressed lines before this one. */
static gboolean site_passes(RdmadLogSite *site, RdmadLogLevel level, guint *suppressed)
{
	const gint64 now = rdmad_now_us();

	if (!site || level == RDMAD_LOG_DEBUG)
		return TRUE;
	if (site->count == 0 || now - site->window_us >= SITE_WINDOW_US) {
		site->window_us = now;
		site->count = 0;
	}
	if (site->count >= SITE_LINES) {
		site->suppressed++;
		return FALSE;
	}
	site->count++;
	*suppressed = site->suppressed;
	site->suppressed = 0;
	return TRUE;
}

static void append_suppressed(char *text, gsize max, guint suppressed)
{
	char note[48];

	g_snprintf(note, sizeof(note), " (%u like it held back)", suppressed);
	/* The note overwrites the end of a long message. */
	g_strlcpy(text + MIN(strlen(text), max - strlen(note)), note, sizeof(note));
}

static void log_line(RdmadLogSite *site, const RdmadLogRecord *record, char *text)
{
	RdmadLogRecord line = *record;
	guint suppressed = 0;

	pthread_mutex_lock(&the_log.lock);
	if (site_passes(site, record->level, &suppressed)) {
		g_autofree char *valid = NULL;

		if (suppressed > 0)
			append_suppressed(text, RDMAD_LOG_MESSAGE_MAX, suppressed);
		valid = g_utf8_make_valid(text, -1);
		line.message = valid;
		rdmad_log_output_write(&the_log.output, &line);
	}
	pthread_mutex_unlock(&the_log.lock);
}

void rdmad_log_write(const char *topic, RdmadLogLevel level, RdmadLogSite *site,
		     const RdmadLogFields *fields, const char *format, ...)
{
	const int saved = errno;
	RdmadLogRecord record = { .time_us = rdmad_wall_us(), .level = level, .topic = topic };
	/* Larger than the limit, so that a truncation is detected. */
	char text[RDMAD_LOG_MESSAGE_MAX + 64];
	va_list args;

	if (fields)
		record.fields = *fields;
	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		g_strlcpy(text, format, sizeof(text));
	va_end(args);
	log_line(site, &record, text);
	errno = saved;
}

/* ---- GLib's messages: failed assertions, misuse ---- */

static RdmadLogLevel level_of(GLogLevelFlags flags)
{
	if (flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL))
		return RDMAD_LOG_ERR;
	if (flags & G_LOG_LEVEL_WARNING)
		return RDMAD_LOG_WARNING;
	if (flags & G_LOG_LEVEL_MESSAGE)
		return RDMAD_LOG_NOTICE;
	return flags & G_LOG_LEVEL_INFO ? RDMAD_LOG_INFO : RDMAD_LOG_DEBUG;
}

/* Returns a copy, because a field of a structured message may lack the NUL. */
static char *field_text(const GLogField *fields, gsize n_fields, const char *key)
{
	for (gsize i = 0; i < n_fields; i++) {
		if (!g_str_equal(fields[i].key, key) || !fields[i].value)
			continue;
		return fields[i].length < 0 ? g_strdup(fields[i].value)
					    : g_strndup(fields[i].value, (gsize)fields[i].length);
	}
	return NULL;
}

static GLogWriterOutput glib_writer(GLogLevelFlags flags, const GLogField *fields, gsize n_fields,
				    gpointer data)
{
	g_autofree char *domain = field_text(fields, n_fields, "GLIB_DOMAIN");
	g_autofree char *message = field_text(fields, n_fields, "MESSAGE");
	const RdmadLogLevel level = level_of(flags);

	if (rdmad_log_enabled("glib", level))
		rdmad_log_write("glib", level, NULL, NULL, "%s: %s", domain ? domain : "-",
				message ? message : "-");
	return G_LOG_WRITER_HANDLED;
}

void rdmad_log_redirect_glib(void)
{
	static gsize once;

	if (g_once_init_enter(&once)) {
		g_log_set_writer_func(glib_writer, NULL, NULL);
		g_once_init_leave(&once, 1);
	}
}
