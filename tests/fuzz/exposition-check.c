/* SPDX-License-Identifier: Apache-2.0 */
#include "exposition-check.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz_"
#define DIGITS	"0123456789"

typedef struct {
	ExpositionFormat format;
	char *family; /* the family of the last heads, or NULL */
	char *type;
	guint samples;	    /* number of its samples */
	GHashTable *names;  /* set of the names of families and of their possible samples */
	GHashTable *series; /* set of the series */
	gboolean ended;
} Check;

static const char *const SUFFIXES[][5] = {
	{ "counter", "_total", "_created" },
	{ "histogram", "_bucket", "_count", "_sum", "_created" },
	{ "info", "_info" },
	{ "gauge" },
};

static const char *const *type_suffixes(const char *type)
{
	for (guint i = 0; i < G_N_ELEMENTS(SUFFIXES); i++)
		if (!g_strcmp0(SUFFIXES[i][0], type))
			return SUFFIXES[i] + 1;
	g_error("unknown type %s", type);
}

static void assert_name(const char *name)
{
	g_assert_true(*name && strspn(name, LETTERS DIGITS) == strlen(name));
	g_assert_false(g_ascii_isdigit(*name));
}

/* ---- heads ---- */

static void names_add(Check *check, const char *name)
{
	if (!g_hash_table_add(check->names, g_strdup(name)))
		g_error("%s comes twice, or clashes", name);
}

/* In text 0.0.4, the family has the name of its samples. */
static void family_begin(Check *check, const char *name)
{
	g_assert_true(!check->family || check->samples);
	g_free(check->family);
	check->family = g_strdup(name);
	g_clear_pointer(&check->type, g_free);
	check->samples = 0;
	names_add(check, name);
}

static void type_read(Check *check, const char *type)
{
	const char *const *suffix = type_suffixes(type);

	g_assert_null(check->type);
	check->type = g_strdup(type);
	for (guint i = 0; i < 4 && suffix[i]; i++) {
		g_autofree char *sample = g_strconcat(check->family, suffix[i], NULL);

		if (check->format == EXPOSITION_OPENMETRICS || g_str_equal(type, "histogram"))
			names_add(check, sample);
	}
}

static void escapes_check(const char *text, const char *allowed)
{
	for (; *text; text++) {
		if (*text != '\\')
			continue;
		g_assert_true(text[1] && strchr(allowed, text[1]));
		text++;
	}
}

static void head_read(Check *check, const char *line)
{
	g_auto(GStrv) words = g_strsplit(line, " ", 4);

	g_assert_cmpuint(g_strv_length(words), ==, 4);
	assert_name(words[2]);
	if (g_str_equal(words[1], "HELP")) {
		family_begin(check, words[2]);
		escapes_check(words[3], check->format == EXPOSITION_OPENMETRICS ? "\\n\"" : "\\n");
		return;
	}
	g_assert_cmpstr(words[2], ==, check->family);
	g_assert_cmpuint(check->samples, ==, 0);
	if (g_str_equal(words[1], "TYPE")) {
		type_read(check, words[3]);
		return;
	}
	g_assert_cmpstr(words[1], ==, "UNIT");
	g_assert_cmpint(check->format, ==, EXPOSITION_OPENMETRICS);
	g_assert_true(g_str_has_suffix(words[2], words[3]));
	g_assert_cmpstr(check->type, !=, "info");
}

/* ---- samples ---- */

static const char *value_end(const char *at)
{
	for (; *at != '"'; at++) {
		g_assert_true(*at != '\0');
		if (*at == '\\') {
			at++;
			g_assert_true(*at == '\\' || *at == '"' || *at == 'n');
		}
	}
	return at;
}

/* Parses labels after the opening brace; returns the text after the closing one. */
static const char *labels_read(const char *at)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (;;) {
		const gsize size = strspn(at, LETTERS DIGITS);
		char *name = g_strndup(at, size);

		assert_name(name);
		g_assert_true(g_hash_table_add(names, name));
		g_assert_true(g_str_has_prefix(at + size, "=\""));
		at = value_end(at + size + 2) + 1;
		if (*at == '}')
			return at + 1;
		g_assert_true(*at == ',');
		at++;
	}
}

/* Returns whether a sample with this name belongs to the current family. */
static gboolean name_belongs(const Check *check, const char *name)
{
	const char *const *suffix = type_suffixes(check->type);
	const char *rest;

	if (check->format == EXPOSITION_TEXT && !g_str_equal(check->type, "histogram"))
		return g_str_equal(name, check->family);
	if (!g_str_has_prefix(name, check->family))
		return FALSE;
	rest = name + strlen(check->family);
	if (!*rest)
		return g_str_equal(check->type, "gauge");
	for (guint i = 0; i < 4 && suffix[i]; i++)
		if (g_str_equal(rest, suffix[i]))
			return TRUE;
	return FALSE;
}

static void sample_read(Check *check, const char *line)
{
	const gsize size = strspn(line, LETTERS DIGITS);
	g_autofree char *name = g_strndup(line, size);
	const char *at = line + size;
	char *end;

	assert_name(name);
	if (*at == '{')
		at = labels_read(at + 1);
	g_assert_true(*at == ' ');
	if (!check->type || !name_belongs(check, name))
		g_error("%s is not a sample of %s (%s)", name, check->family, check->type);
	if (!g_hash_table_add(check->series, g_strndup(line, (gsize)(at - line))))
		g_error("a series comes twice: %s", line);
	g_ascii_strtod(at + 1, &end);
	g_assert_true(end > at + 1 && *end == '\0' && at[1] != ' ');
	check->samples++;
}

/* ---- the whole text ---- */

static void line_read(Check *check, const char *line)
{
	g_assert_false(check->ended);
	if (g_str_equal(line, "# EOF")) {
		g_assert_cmpint(check->format, ==, EXPOSITION_OPENMETRICS);
		check->ended = TRUE;
	} else if (*line == '#') {
		head_read(check, line);
	} else {
		sample_read(check, line);
	}
}

void exposition_check(const char *text, gsize size, ExpositionFormat format)
{
	Check check = { .format = format };

	g_assert_cmpuint(strlen(text), ==, size);
	g_assert_true(g_utf8_validate(text, (gssize)size, NULL));
	check.names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	check.series = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	while (*text) {
		const char *end = strchr(text, '\n');
		g_autofree char *line = end ? g_strndup(text, (gsize)(end - text)) : NULL;

		g_assert_nonnull(end);
		line_read(&check, line);
		text = end + 1;
	}
	g_assert_true(check.ended == (format == EXPOSITION_OPENMETRICS));
	g_assert_true(!check.family || check.samples);
	g_hash_table_unref(check.names);
	g_hash_table_unref(check.series);
	g_free(check.family);
	g_free(check.type);
}
