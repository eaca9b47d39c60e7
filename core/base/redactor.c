/* SPDX-License-Identifier: Apache-2.0 */
#include "base/redactor.h"

#include <string.h>

#define REDACTED   "REDACTED"
#define SCHEME_END "://"

/* ---- URLs ---- */

/* Returns the last "@" of the word, because a password may contain one, or NULL. */
static const char *userinfo_end(const char *word)
{
	const char *end = NULL;

	for (; *word && !strchr(" \t\r\n\"'<>", *word); word++)
		if (*word == '@')
			end = word;
	return end;
}

char *rdmad_redact_userinfo(const char *text)
{
	GString *redacted = g_string_new(NULL);
	const char *scheme;

	while ((scheme = strstr(text, SCHEME_END))) {
		const char *word = scheme + strlen(SCHEME_END);
		const char *end = userinfo_end(word);

		g_string_append_len(redacted, text, word - text);
		if (end)
			g_string_append(redacted, REDACTED);
		text = end ?: word;
	}
	g_string_append(redacted, text);
	return g_string_free(redacted, FALSE);
}

/* ---- text ---- */

/* A word that sounds like a secret, to its end; the name of a file with one is none. */
#define WORD                                                                                       \
	"(?:passw|passphrase|pwd\\b|secret|token|credential|api[_-]?key|private[_-]?key|"          \
	"access[_-]?key|authorization|basic[_-]auth)"                                              \
	"(?![\\w-]*[_-](?:file|path|dir|age|seconds)\\b)[\\w.-]*"
/* The key that such a word ends; a path is none. */
#define KEY		  "(?<![/\\w-])[\\w.-]*?" WORD
#define QUOTE		  "\\\\*[\"'`]"
#define STRING		  "\"(?:[^\"\\\\]|\\\\.)*\""
#define LIST(open, close) "\\" open "(?:[^\"\\" open "\\" close "]|" STRING ")*\\" close

/* In this order. */
static const struct {
	const char *pattern, *by;
} rules[] = {
	{ "(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\\z)",
	  REDACTED },
	/* The lines of YAML below a key. */
	{ "(?im)^([ \\t]*)((?:- )?" QUOTE "?" KEY QUOTE "?[ \\t]*:)[ \\t]*[|>]?[-+]?\\d?[ \\t]*"
	  "(?:\\n(?:\\1[ \\t]+|\\1- ).*)+",
	  "\\1\\2 " REDACTED },
	/* A list or a group, else all to the end of the line, with the strings that continue it: an
	 * escaped quote is not worth a parser. */
	{ "(?im)(" KEY QUOTE "?\\s*[=:]\\s*)(?:" LIST("(", ")") "|" LIST("[", "]") "|" LIST(
		  "{", "}") "|\\S.*$(?:\\n\\s*" STRING "(?!\\s*:).*)*)",
	  "\\1" REDACTED },
	/* An entry of a container's environment. */
	{ "(?im)(\\bname" QUOTE "?\\s*[=:]\\s*" QUOTE "?[\\w.-]*?" WORD QUOTE "?[,;\\s]*" QUOTE
	  "?value" QUOTE "?\\s*[=:]\\s*)\\S.*$",
	  "\\1" REDACTED },
	/* invalid password "..." */
	{ "(?i)(" KEY "\\s+)([\"'`])(?:(?!\\2).)+\\2", "\\1\\2" REDACTED "\\2" },
	{ "(?i)\\b(bearer\\s+)[\\w.~+/=-]{8,}", "\\1" REDACTED },
	/* user:password@host without a scheme */
	{ "(?<![\\w:/.@-])[^\\s\"'/@:=]+:[^\\s\"'@/]+@(?=[\\w[])", REDACTED "@" },
	/* A JSON web token. */
	{ "\\beyJ[\\w-]{8,}\\.[\\w-]+(?:\\.[\\w-]*)?", REDACTED },
	/* A hash of a password: bcrypt, crypt(3). */
	{ "\\$2[abxy]?\\$\\d\\d\\$[./A-Za-z0-9]{53}", REDACTED },
	{ "\\$(?:[156y]|gy|7)\\$[^\\s\"':]+", REDACTED },
};

struct RdmadRedactor {
	GRegex *rules[G_N_ELEMENTS(rules)];
	GRegex *word;
};

static GRegex *regex_make(const char *pattern)
{
	GError *error = NULL;
	GRegex *regex = g_regex_new(pattern, 0, 0, &error);

	g_assert_no_error(error);
	return regex;
}

RdmadRedactor *rdmad_redactor_new(void)
{
	RdmadRedactor *redactor = g_new0(RdmadRedactor, 1);

	for (guint i = 0; i < G_N_ELEMENTS(rules); i++)
		redactor->rules[i] = regex_make(rules[i].pattern);
	redactor->word = regex_make("(?i)" WORD "$");
	return redactor;
}

void rdmad_redactor_free(RdmadRedactor *redactor)
{
	for (guint i = 0; i < G_N_ELEMENTS(rules); i++)
		g_regex_unref(redactor->rules[i]);
	g_regex_unref(redactor->word);
	g_free(redactor);
}

char *rdmad_redactor_text(const RdmadRedactor *redactor, const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	char *now = rdmad_redact_userinfo(valid);

	for (guint i = 0; now && i < G_N_ELEMENTS(rules); i++) {
		g_autofree char *before = now;

		now = g_regex_replace(redactor->rules[i], before, -1, 0, rules[i].by, 0, NULL);
	}
	return now;
}

/* ---- JSON ---- */

static json_t *string_redact(const RdmadRedactor *redactor, const json_t *string, gboolean whole)
{
	g_autofree char *text = rdmad_redactor_text(redactor, json_string_value(string));

	return json_string(whole || !text ? REDACTED : text);
}

static void json_redact(const RdmadRedactor *redactor, json_t *value, gboolean whole);

/* {"name": "DB_PASSWORD", "value": ...} */
static gboolean names_secret(const RdmadRedactor *redactor, const json_t *object)
{
	const char *name = json_string_value(json_object_get(object, "name"));

	return name && g_regex_match(redactor->word, name, 0, NULL);
}

static void object_redact(const RdmadRedactor *redactor, json_t *object, gboolean whole)
{
	const gboolean is_secret = names_secret(redactor, object);
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, key, value)
	{
		const gboolean all = whole || g_regex_match(redactor->word, key, 0, NULL) ||
				     (is_secret && g_str_equal(key, "value"));

		if (json_is_string(value))
			json_object_set_new(object, key, string_redact(redactor, value, all));
		else
			json_redact(redactor, value, all);
	}
}

static void array_redact(const RdmadRedactor *redactor, json_t *array, gboolean whole)
{
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
	{
		if (json_is_string(value))
			json_array_set_new(array, i, string_redact(redactor, value, whole));
		else
			json_redact(redactor, value, whole);
	}
}

/* `whole`: the key above sounds like a secret. */
static void json_redact(const RdmadRedactor *redactor, json_t *value, gboolean whole)
{
	if (json_is_object(value))
		object_redact(redactor, value, whole);
	else if (json_is_array(value))
		array_redact(redactor, value, whole);
}

void rdmad_redactor_json(const RdmadRedactor *redactor, json_t *value)
{
	json_redact(redactor, value, FALSE);
}
