/* SPDX-License-Identifier: Apache-2.0 */
#include "http/head.h"

#include <string.h>

gssize rdmad_http_head_find(const guint8 *data, gsize size, gsize *scanned)
{
	for (gsize i = *scanned; i < size; i++) {
		const gboolean after_cr = i > 0 && data[i - 1] == '\r';

		if (data[i] == '\0' || after_cr != (data[i] == '\n'))
			return -1;
		if (data[i] == '\n' && i >= 3 && data[i - 2] == '\n')
			return (gssize)i + 1;
	}
	*scanned = size;
	return 0;
}

/* RFC 9110: tchar. */
static gboolean is_token(const char *text)
{
	if (!*text)
		return FALSE;
	for (; *text; text++)
		if (!g_ascii_isalnum(*text) && !strchr("!#$%&'*+-.^_`|~", *text))
			return FALSE;
	return TRUE;
}

/* Decodes in place.  Returns FALSE for an invalid escape or an encoded NUL. */
static gboolean percent_decode(char *text, gboolean plus_is_space)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		if (*in == '%') {
			const int high = g_ascii_xdigit_value(in[1]);
			const int low = high < 0 ? -1 : g_ascii_xdigit_value(in[2]);

			if (low < 0 || high + low == 0)
				return FALSE;
			*out++ = (char)(high << 4 | low);
			in += 2;
		} else {
			*out++ = plus_is_space && *in == '+' ? ' ' : *in;
		}
	}
	*out = '\0';
	return TRUE;
}

static guint parse_query(RdmadHttpHead *head, char *query)
{
	while (query && *query) {
		char *next = strchr(query, '&'), *value;

		if (next)
			*next++ = '\0';
		value = strchr(query, '=');
		if (value)
			*value++ = '\0';
		else
			value = query + strlen(query);
		if (head->n_params == RDMAD_HTTP_MAX_FIELDS || !percent_decode(query, TRUE) ||
		    !percent_decode(value, TRUE))
			return 400;
		head->params[head->n_params++] = (RdmadHttpField){ query, value };
		query = next;
	}
	return 0;
}

/* Accepts only the origin form: rdmad is not a proxy, and does not use "*". */
static guint parse_target(RdmadHttpHead *head, char *target)
{
	char *query;

	if (*target != '/' || strchr(target, '#'))
		return 400;
	for (const char *c = target; *c; c++)
		if (!g_ascii_isgraph(*c))
			return 400;
	query = strchr(target, '?');
	if (query)
		*query++ = '\0';
	head->path = target;
	return percent_decode(target, FALSE) ? parse_query(head, query) : 400;
}

static guint parse_request_line(RdmadHttpHead *head, char *line)
{
	char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version)
		return 400;
	*target++ = '\0';
	*version++ = '\0';
	head->method = line;
	if (!is_token(line))
		return 400;
	if (!g_str_has_prefix(version, "HTTP/"))
		return 400;
	if (!g_str_equal(version, "HTTP/1.1") && !g_str_equal(version, "HTTP/1.0"))
		return 505;
	head->keep_alive = g_str_equal(version, "HTTP/1.1");
	return parse_target(head, target);
}

static gboolean is_field_value(const char *value)
{
	for (; *value; value++)
		if (g_ascii_iscntrl(*value) && *value != '\t')
			return FALSE;
	return TRUE;
}

static guint parse_field(RdmadHttpHead *head, char *line)
{
	char *value = strchr(line, ':');

	if (!value)
		return 400;
	*value++ = '\0';
	if (!is_token(line) || !is_field_value(value))
		return 400;
	if (head->n_fields == RDMAD_HTTP_MAX_FIELDS)
		return 431;
	head->fields[head->n_fields++] = (RdmadHttpField){ line, g_strstrip(value) };
	return 0;
}

static guint count_fields(const RdmadHttpHead *head, const char *name)
{
	guint n = 0;

	for (guint i = 0; i < head->n_fields; i++)
		n += g_ascii_strcasecmp(head->fields[i].name, name) == 0;
	return n;
}

/* Determines the length of the body, which must be unambiguous. */
static guint parse_framing(RdmadHttpHead *head)
{
	const char *length = rdmad_http_head_field(head, "Content-Length");

	if (rdmad_http_head_field(head, "Transfer-Encoding"))
		return length ? 400 : 501;
	if (!length)
		return 0;
	if (count_fields(head, "Content-Length") > 1 || !g_ascii_isdigit(*length) ||
	    strlen(length) > 18 || strspn(length, "0123456789") != strlen(length))
		return 400;
	head->content_length = g_ascii_strtoull(length, NULL, 10);
	return 0;
}

static guint parse_meaning(RdmadHttpHead *head)
{
	const guint hosts = count_fields(head, "Host");
	const char *connection = rdmad_http_head_field(head, "Connection");

	if (hosts > 1 || (hosts == 0 && head->keep_alive))
		return 400;
	/* Clients that send it (curl, for long bodies) retry without it. */
	if (rdmad_http_head_field(head, "Expect"))
		return 417;
	if (connection && g_ascii_strcasecmp(connection, "keep-alive") != 0)
		head->keep_alive = FALSE;
	return parse_framing(head);
}

guint rdmad_http_head_parse(RdmadHttpHead *head, const guint8 *data, gsize size)
{
	char *line, *next;
	guint status;

	*head = (RdmadHttpHead){ .text = g_strndup((const char *)data, size) };
	line = head->text;
	next = strstr(line, "\r\n");
	*next = '\0';
	status = parse_request_line(head, line);
	for (line = next + 2; status == 0 && *line != '\r'; line = next + 2) {
		next = strstr(line, "\r\n");
		*next = '\0';
		status = parse_field(head, line);
	}
	return status ? status : parse_meaning(head);
}

void rdmad_http_head_clear(RdmadHttpHead *head)
{
	g_free(head->text);
	*head = (RdmadHttpHead){ 0 };
}

const char *rdmad_http_head_field(const RdmadHttpHead *head, const char *name)
{
	for (guint i = 0; i < head->n_fields; i++)
		if (g_ascii_strcasecmp(head->fields[i].name, name) == 0)
			return head->fields[i].value;
	return NULL;
}

const char *rdmad_http_head_param(const RdmadHttpHead *head, const char *name)
{
	for (guint i = 0; i < head->n_params; i++)
		if (g_str_equal(head->params[i].name, name))
			return head->params[i].value;
	return NULL;
}
