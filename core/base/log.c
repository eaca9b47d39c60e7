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

/* The rate limit of one call site; lines of level debug are not limited. */
#define SITE_WINDOW_US (5 * G_USEC_PER_SEC)
#define SITE_LINES     20u

/* The one log of the process.  Its lock needs no setup, so that any thread may log first; it is no
 * GMutex, because the thread sanitizer does not understand those. */
static struct {
	pthread_mutex_t lock;
	RdmadLogLevel level;
	GHashTable *topics; /* topic -> level, or NULL */
	RdmadLogOutput output;
	int most; /* the most talkative level of all; atomic, read without the lock */
} the_log = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.level = RDMAD_LOG_INFO,
	.output = { .format = RDMAD_LOG_TEXT, .fd = STDERR_FILENO, .journal = -1 },
	.most = RDMAD_LOG_INFO,
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

static GHashTable *topics_copy(GHashTable *topics, int *most)
{
	GHashTable *copy = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	gpointer topic, level;
	GHashTableIter iter;

	g_hash_table_iter_init(&iter, topics);
	while (g_hash_table_iter_next(&iter, &topic, &level)) {
		g_hash_table_insert(copy, g_strdup(topic), level);
		*most = MAX(*most, GPOINTER_TO_INT(level));
	}
	return copy;
}

void rdmad_log_setup(RdmadLogLevel level, RdmadLogFormat format, GHashTable *topics)
{
	int most = (int)level;
	GHashTable *copy = topics ? topics_copy(topics, &most) : NULL;

	rdmad_log_redirect_glib();
	pthread_mutex_lock(&the_log.lock);
	the_log.level = level;
	g_clear_pointer(&the_log.topics, g_hash_table_unref);
	the_log.topics = copy;
	rdmad_log_output_clear(&the_log.output);
	rdmad_log_output_init(&the_log.output, format, STDERR_FILENO, RDMAD_LOG_JOURNAL_SOCKET,
			      g_getenv("JOURNAL_STREAM"));
	g_atomic_int_set(&the_log.most, most);
	pthread_mutex_unlock(&the_log.lock);
}

gboolean rdmad_log_enabled(const char *topic, RdmadLogLevel level)
{
	gpointer own = NULL;
	RdmadLogLevel limit;

	if ((int)level > g_atomic_int_get(&the_log.most))
		return FALSE;
	pthread_mutex_lock(&the_log.lock);
	limit = the_log.level;
	if (the_log.topics && g_hash_table_lookup_extended(the_log.topics, topic, NULL, &own))
		limit = (RdmadLogLevel)GPOINTER_TO_INT(own);
	pthread_mutex_unlock(&the_log.lock);
	return level <= limit;
}

/* With the lock held.  `held_back`: how many lines of the site were before this one. */
static gboolean site_passes(RdmadLogSite *site, RdmadLogLevel level, guint *held_back)
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
	*held_back = site->suppressed;
	site->suppressed = 0;
	return TRUE;
}

static void append_held_back(char *text, gsize max, guint held_back)
{
	char note[48];

	g_snprintf(note, sizeof(note), " (%u like it held back)", held_back);
	/* A message that is too long loses its end to the note. */
	g_strlcpy(text + MIN(strlen(text), max - strlen(note)), note, sizeof(note));
}

static void log_line(RdmadLogSite *site, const RdmadLogRecord *record, char *text)
{
	RdmadLogRecord line = *record;
	guint held_back = 0;

	pthread_mutex_lock(&the_log.lock);
	if (site_passes(site, record->level, &held_back)) {
		g_autofree char *valid = NULL;

		if (held_back > 0)
			append_held_back(text, RDMAD_LOG_MESSAGE_MAX, held_back);
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
	/* More than is shown, so that the cut is seen. */
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

/* ---- GLib's messages (a failed assertion, a misuse) are logged as all others ---- */

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

/* Newly allocated: a field of a structured message need not end with a NUL. */
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
