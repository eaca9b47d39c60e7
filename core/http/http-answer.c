/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "http/http-server.h"

static const char *reason_phrase(guint status)
{
	static const struct {
		guint status;
		const char *phrase;
	} table[] = {
		{ 200, "OK" },
		{ 204, "No Content" },
		{ 302, "Found" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 413, "Content Too Large" },
		{ 417, "Expectation Failed" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		if (table[i].status == status)
			return table[i].phrase;
	return "Unknown";
}

/* RFC 9110 5.6.7; strftime() would speak the locale's language. */
static void append_date(GString *head)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	g_string_append_printf(head, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n",
			       days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon,
			       tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

GByteArray *http_answer_pack(guint status, const char *content_type, const char *headers,
			     const void *body, gsize size, gboolean head_only, gboolean close)
{
	g_autoptr(GString) head = g_string_sized_new(512);
	GByteArray *out;

	g_string_append_printf(head, "HTTP/1.1 %u %s\r\n", status, reason_phrase(status));
	append_date(head);
	if (content_type)
		g_string_append_printf(head, "Content-Type: %s\r\n", content_type);
	g_string_append_printf(head, "Content-Length: %" G_GSIZE_FORMAT "\r\n", size);
	g_string_append(head, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
	if (close)
		g_string_append(head, "Connection: close\r\n");
	g_string_append(head, headers ? headers : "");
	g_string_append(head, "\r\n");

	out = g_byte_array_sized_new(head->len + (head_only ? 0 : size));
	g_byte_array_append(out, (const guint8 *)head->str, head->len);
	if (!head_only && size)
		g_byte_array_append(out, body, size);
	return out;
}

char *http_answer_error(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	json_t *object = json_pack("{s:s}", "error", valid);
	char *dumped = json_dumps(object, JSON_COMPACT);
	char *body = g_strconcat(dumped, "\n", NULL);

	free(dumped);
	json_decref(object);
	return body;
}
