/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log-format.h"

#include <string.h>
#include <time.h>

#include "base/log.h"

/* Limit of escaped bytes; with the message, all fields stay below RDMAD_LOG_LINE_MAX. */
#define FIELD_MAX 256u

typedef struct {
	const char *name, *journal_name, *value;
} NamedField;

#define N_FIELDS 4

static void named_fields(const RdmadLogRecord *record, NamedField fields[N_FIELDS])
{
	const RdmadLogFields *f = &record->fields;

	fields[0] = (NamedField){ "device", "RDMAD_DEVICE", f->device };
	fields[1] = (NamedField){ "pod", "RDMAD_POD", f->pod };
	fields[2] = (NamedField){ "resource", "RDMAD_RESOURCE", f->resource };
	fields[3] = (NamedField){ "allocation", "RDMAD_ALLOCATION", f->allocation };
}

static void append_time(GString *out, gint64 time_us)
{
	const time_t seconds = time_us / G_USEC_PER_SEC;
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	g_string_append_printf(out, "%s.%03dZ", text, (int)(time_us % G_USEC_PER_SEC / 1000));
}

typedef void (*EscapeFunc)(GString *out, gunichar c);

/* Escapes what would start a new line or control a terminal. */
static void escape_text(GString *out, gunichar c)
{
	if (c == '\n')
		g_string_append(out, "\\n");
	else if (c == '\t')
		g_string_append(out, "\\t");
	else if (g_unichar_iscntrl(c) || c == 0x2028 || c == 0x2029)
		g_string_append_printf(out, "\\u%04x", c);
	else
		g_string_append_unichar(out, c);
}

static void escape_json(GString *out, gunichar c)
{
	if (c == '"' || c == '\\')
		g_string_append_c(out, '\\');
	escape_text(out, c);
}

/* Returns the bytes that no format escapes: lookups in Unicode tables took most of the time of a
 * line. */
static gsize plain_length(const char *text)
{
	gsize n = 0;

	while (text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

static void append_escaped(GString *out, const char *text, gsize max, EscapeFunc escape)
{
	g_autofree char *valid = g_utf8_make_valid(text, (gssize)strnlen(text, max));
	const gsize end = out->len + max;
	const char *at = valid;

	while (*at && out->len < end) {
		const gsize plain = MIN(plain_length(at), end - out->len);

		g_string_append_len(out, at, (gssize)plain);
		at += plain;
		if (plain > 0)
			continue;
		escape(out, g_utf8_get_char(at));
		at = g_utf8_next_char(at);
	}
	if (*at || strnlen(text, max + 1) > max)
		g_string_append(out, "...");
}

static void append_line(GString *out, const RdmadLogRecord *record)
{
	NamedField fields[N_FIELDS];

	append_escaped(out, record->topic, FIELD_MAX, escape_text);
	g_string_append(out, ": ");
	append_escaped(out, record->message, RDMAD_LOG_MESSAGE_MAX, escape_text);
	named_fields(record, fields);
	for (guint i = 0; i < N_FIELDS; i++) {
		if (!fields[i].value)
			continue;
		g_string_append_c(out, ' ');
		g_string_append(out, fields[i].name);
		g_string_append_c(out, '=');
		append_escaped(out, fields[i].value, FIELD_MAX, escape_text);
	}
	g_string_append_c(out, '\n');
}

void rdmad_log_format_text(GString *out, const RdmadLogRecord *record)
{
	append_time(out, record->time_us);
	g_string_append_printf(out, " %-7s ", rdmad_log_level_name(record->level));
	append_line(out, record);
}

void rdmad_log_format_priority(GString *out, const RdmadLogRecord *record)
{
	g_string_append_printf(out, "<%d>", record->level);
	append_line(out, record);
}

static void append_json_member(GString *out, const char *name, const char *value, gsize max)
{
	g_string_append_printf(out, ",\"%s\":\"", name);
	append_escaped(out, value, max, escape_json);
	g_string_append_c(out, '"');
}

void rdmad_log_format_json(GString *out, const RdmadLogRecord *record)
{
	NamedField fields[N_FIELDS];

	g_string_append(out, "{\"time\":\"");
	append_time(out, record->time_us);
	g_string_append_c(out, '"');
	append_json_member(out, "level", rdmad_log_level_name(record->level), FIELD_MAX);
	append_json_member(out, "topic", record->topic, FIELD_MAX);
	append_json_member(out, "message", record->message, RDMAD_LOG_MESSAGE_MAX);
	named_fields(record, fields);
	for (guint i = 0; i < N_FIELDS; i++)
		if (fields[i].value)
			append_json_member(out, fields[i].name, fields[i].value, FIELD_MAX);
	g_string_append(out, "}\n");
}

/* A value with a newline is preceded by its length, little-endian. */
static void append_journal_field(GString *out, const char *name, const char *value, gsize max)
{
	const gsize length = strnlen(value, max);
	const guint64 wire_length = GUINT64_TO_LE((guint64)length);

	g_string_append(out, name);
	if (memchr(value, '\n', length)) {
		g_string_append_c(out, '\n');
		g_string_append_len(out, (const char *)&wire_length, sizeof(wire_length));
	} else {
		g_string_append_c(out, '=');
	}
	g_string_append_len(out, value, (gssize)length);
	g_string_append_c(out, '\n');
}

void rdmad_log_format_journal(GString *out, const RdmadLogRecord *record)
{
	NamedField fields[N_FIELDS];

	g_string_append_printf(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=rdmad\n", record->level);
	append_journal_field(out, "RDMAD_TOPIC", record->topic, FIELD_MAX);
	append_journal_field(out, "MESSAGE", record->message, RDMAD_LOG_MESSAGE_MAX);
	named_fields(record, fields);
	for (guint i = 0; i < N_FIELDS; i++)
		if (fields[i].value)
			append_journal_field(out, fields[i].journal_name, fields[i].value,
					     FIELD_MAX);
}
