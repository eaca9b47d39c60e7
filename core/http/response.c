/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <rdmad/clock.h>
#include <rdmad/json.h>
#include <string.h>
#include <time.h>

#include "http/server.h"

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
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 413, "Content Too Large" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
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

/* RFC 9110 5.6.7.  strftime() would use the locale's names. */
static void append_date(GString *head)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const time_t now = (time_t)(rdmad_wall_us() / G_USEC_PER_SEC);
	struct tm tm;

	gmtime_r(&now, &tm);
	g_string_append_printf(head, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n",
			       days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon,
			       tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static const HttpHeader every_header[] = {
	{ "Cache-Control", "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
};

/* For responses of TCP listeners: a browser must not run, embed or leak their content. */
static const HttpHeader public_headers[] = {
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
};

/* `lines` are the "Name: value\r\n" lines added by a handler. */
static gboolean lines_have(const char *lines, const char *name)
{
	const gsize length = strlen(name);

	for (const char *line = lines; line && *line; line = strstr(line, "\r\n") + 2)
		if (!g_ascii_strncasecmp(line, name, length) && line[length] == ':')
			return TRUE;
	return FALSE;
}

/* Headers of the handler override headers of the web configuration, which override the defaults. */
static void append_web(GString *head, const HttpAnswer *answer)
{
	for (guint i = 0; answer->web_headers && i < answer->web_headers->len; i++) {
		const WebHeader *header = answer->web_headers->pdata[i];

		if (!lines_have(answer->headers, header->name))
			g_string_append_printf(head, "%s: %s\r\n", header->name, header->value);
	}
}

static gboolean web_has(const GPtrArray *headers, const char *name)
{
	for (guint i = 0; headers && i < headers->len; i++)
		if (g_str_equal(((WebHeader *)headers->pdata[i])->name, name))
			return TRUE;
	return FALSE;
}

static void append_defaults(GString *head, const HttpHeader *defaults, gsize n,
			    const HttpAnswer *answer)
{
	for (gsize i = 0; i < n; i++)
		if (!lines_have(answer->headers, defaults[i].name) &&
		    !web_has(answer->web_headers, defaults[i].name))
			g_string_append_printf(head, "%s: %s\r\n", defaults[i].name,
					       defaults[i].value);
}

/* RFC 9110 8.6: a length of 0 in a 304 would mean that the client's copy is empty. */
static gboolean status_has_body(guint status)
{
	return status != 204 && status != 304;
}

char *http_answer_head(const HttpAnswer *answer, gsize *size)
{
	GString *head = g_string_sized_new(512);

	g_string_append_printf(head, "HTTP/1.1 %u %s\r\n", answer->status,
			       reason_phrase(answer->status));
	append_date(head);
	if (answer->content_type)
		g_string_append_printf(head, "Content-Type: %s\r\n", answer->content_type);
	if (status_has_body(answer->status))
		g_string_append_printf(head, "Content-Length: %" G_GSIZE_FORMAT "\r\n",
				       answer->body_size);
	append_defaults(head, every_header, G_N_ELEMENTS(every_header), answer);
	if (answer->is_public)
		append_defaults(head, public_headers, G_N_ELEMENTS(public_headers), answer);
	if (answer->close)
		g_string_append(head, "Connection: close\r\n");
	append_web(head, answer);
	g_string_append(head, answer->headers ?: "");
	g_string_append(head, "\r\n");
	*size = head->len;
	return g_string_free(head, FALSE);
}

char *http_answer_error(const char *text)
{
	json_t *object = json_pack("{s:o}", "error", rdmad_json_string(text));
	g_autofree char *line = rdmad_json_dump(object, JSON_COMPACT);

	return g_strconcat(line, "\n", NULL);
}
