/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is logged as one line of limited length; JSON is valid, and fields of the journal are
 * unchanged. */
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/log-format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const GString *line)
{
	g_assert_cmpuint(line->len, <=, RDMAD_LOG_LINE_MAX);
	g_assert_true(strchr(line->str, '\n') == line->str + line->len - 1);
	g_assert_true(g_utf8_validate(line->str, (gssize)line->len, NULL));
}

static void check_json(const RdmadLogRecord *record)
{
	g_autoptr(GString) line = g_string_new(NULL);
	json_error_t error;
	json_t *object;

	rdmad_log_format_json(line, record);
	check_line(line);
	object = json_loadb(line->str, line->len, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		g_error("%s: %s", error.text, line->str);
	json_decref(object);
}

/* Parses the datagram as the journal does; it must have exactly the given fields. */
static void check_journal(const RdmadLogRecord *record, guint expected)
{
	g_autoptr(GString) datagram = g_string_new(NULL);
	const char *at, *end;
	guint fields = 0;

	rdmad_log_format_journal(datagram, record);
	g_assert_cmpuint(datagram->len, <=, RDMAD_LOG_LINE_MAX);
	end = datagram->str + datagram->len;
	for (at = datagram->str; at < end; fields++) {
		const char *stop = at + strcspn(at, "=\n");
		guint64 length;

		if (*stop == '=') {
			at = strchr(stop, '\n') + 1;
			continue;
		}
		memcpy(&length, stop + 1, sizeof(length));
		at = stop + 1 + sizeof(length) + GUINT64_FROM_LE(length);
		g_assert_true(at < end && *at == '\n');
		at++;
	}
	g_assert_cmpuint(fields, ==, expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *message = g_strndup((const char *)data, size);
	const size_t used = MIN(strlen(message) + 1, size);
	g_autofree char *device = g_strndup((const char *)data + used, size - used);
	const RdmadLogRecord record = { 0, RDMAD_LOG_INFO, "t", message, { .device = device } };
	g_autoptr(GString) text = g_string_new(NULL), priority = g_string_new(NULL);

	rdmad_log_format_text(text, &record);
	check_line(text);
	rdmad_log_format_priority(priority, &record);
	check_line(priority);
	check_json(&record);
	check_journal(&record, 5);
	return 0;
}
