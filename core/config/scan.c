/* SPDX-License-Identifier: Apache-2.0 */
#include "config/scan.h"

#include <errno.h>
#include <rdmad/error.h>
#include <string.h>

#include "config/source.h"

#define SHOWN_MAX 80 /* characters of a word in a message */

typedef struct {
	char bracket;
	guint line;
} Opened;

/* Lines of the whole text that are together in one file. */
typedef struct {
	guint start; /* the first, in the whole text */
	guint line;  /* the same in the file */
	char *file;
} TextPart;

/* Shared by all files of one configuration. */
typedef struct {
	const char *include_dir;
	guint includes, settings;
	RdmadConfigText *whole;
} Totals;

typedef struct Scan {
	const struct Scan *includer;
	Totals *totals;
	const char *file, *text, *at;
	const char *copied; /* the text before it is in the whole text */
	guint line;
	char last; /* the last character that was neither blank nor comment */
	Opened opened[RDMAD_CONFIG_MAX_DEPTH];
	guint depth;
	GError **error;
} Scan;

static gboolean scan_text(Scan *scan);

#define scan_error(scan, ...)                                                                      \
	rdmad_config_source_error((scan)->error, (scan)->file, (scan)->line, __VA_ARGS__)

/* ---- the whole text ---- */

static void part_clear(gpointer data)
{
	TextPart *part = data;

	g_free(part->file);
}

/* Begins lines of another file, or of an earlier place. */
static void part_begin(const Scan *scan)
{
	RdmadConfigText *whole = scan->totals->whole;
	const TextPart part = { whole->lines + 1, scan->line, g_strdup(scan->file) };

	g_array_append_val(whole->parts, part);
}

/* Appends the text from `copied` to `end`, and a line end, which libconfig needs after a
 * comment. */
static gboolean scan_copy(Scan *scan, const char *end)
{
	RdmadConfigText *whole = scan->totals->whole;
	const gsize length = (gsize)(end - scan->copied);

	if (whole->text->len + length >= RDMAD_CONFIG_MAX_TEXT)
		return scan_error(scan, "larger than 8 MiB with all included files");
	g_string_append_len(whole->text, scan->copied, (gssize)length);
	g_string_append_c(whole->text, '\n');
	for (const char *at = scan->copied; at < end; at++)
		whole->lines += *at == '\n';
	whole->lines++;
	scan->copied = end;
	return TRUE;
}

const char *rdmad_config_text_place(const RdmadConfigText *text, guint line, guint *in_file)
{
	const TextPart *part;
	guint low = 0, high = text->parts->len;

	while (high - low > 1) {
		const guint middle = (low + high) / 2;

		if (g_array_index(text->parts, TextPart, middle).start <= line)
			low = middle;
		else
			high = middle;
	}
	part = &g_array_index(text->parts, TextPart, low);
	*in_file = part->line + (line - part->start);
	return part->file;
}

void rdmad_config_text_free(RdmadConfigText *text)
{
	if (!text)
		return;
	g_string_free(text->text, TRUE);
	g_array_unref(text->parts);
	g_free(text);
}

/* ---- tokens ---- */

static gboolean is_name(char c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '_' || c == '*';
}

static gboolean scan_comment(Scan *scan)
{
	const guint start = scan->line;

	for (scan->at += 2; *scan->at != '\0'; scan->at++) {
		if (g_str_has_prefix(scan->at, "*/")) {
			scan->at += 2;
			return TRUE;
		}
		scan->line += *scan->at == '\n';
	}
	scan->line = start;
	return scan_error(scan, "this comment has no end: `*/` is missing");
}

static gboolean scan_string(Scan *scan)
{
	const guint start = scan->line;

	for (scan->at++; *scan->at != '\0'; scan->at++) {
		if (*scan->at == '"') {
			scan->at++;
			return TRUE;
		}
		if (g_ascii_strncasecmp(scan->at, "\\x00", 4) == 0)
			return scan_error(scan, "a string cannot hold a NUL byte (\\x00)");
		scan->line += *scan->at == '\n';
		if (*scan->at == '\\' && (scan->at[1] == '"' || scan->at[1] == '\\'))
			scan->at++;
	}
	scan->line = start;
	return scan_error(scan, "this string has no end: a `\"` is missing");
}

/* Returns FALSE, without an error, if libconfig would misread the number. */
static gboolean number_fits(const char *digits, int base, gboolean negative, gboolean wide)
{
	const guint64 max = (wide ? G_MAXINT64 : G_MAXINT32) + (guint64)negative;
	guint64 value;

	errno = 0;
	value = g_ascii_strtoull(digits, NULL, base);
	return errno == 0 && value <= max;
}

static gboolean scan_integer_value(Scan *scan, const char *start, const char *digits, int base,
				   const char *suffix)
{
	const gboolean negative = *start == '-', wide = scan->at > suffix;
	const int length = (int)MIN(suffix - start, SHOWN_MAX);

	if (number_fits(digits, base, negative, wide))
		return TRUE;
	if (number_fits(digits, base, negative, TRUE))
		return scan_error(scan, "%.*s does not fit into 32 bits: write %.*sL", length,
				  start, length, start);
	return scan_error(scan, "%.*s does not fit into 64 bits", length, start);
}

/* Reports the text from `start` to here as a string without quotes. */
static gboolean scan_unquoted(Scan *scan, const char *start)
{
	const int length = (int)MIN(scan->at - start, SHOWN_MAX);

	return scan_error(scan, "`%.*s` must be in quotes: \"%.*s\"", length, start, length, start);
}

static void skip_name(Scan *scan)
{
	while (is_name(*scan->at))
		scan->at++;
}

/* Starts after the sign and the 0x of an integer. */
static gboolean scan_integer(Scan *scan, const char *start, int base)
{
	const char *digits = scan->at, *suffix;

	while (base == 16 ? g_ascii_isxdigit(*scan->at) : g_ascii_isdigit(*scan->at))
		scan->at++;
	suffix = scan->at;
	for (int i = 0; i < 2 && *scan->at == 'L'; i++)
		scan->at++;
	return suffix == digits || scan_integer_value(scan, start, digits, base, suffix);
}

static gboolean is_float(const char *at)
{
	at += strspn(at, "0123456789");
	return *at == '.' || *at == 'e' || *at == 'E';
}

/* Starts at a digit, a sign or a point. */
static gboolean scan_number(Scan *scan)
{
	const char *start = scan->at;

	scan->at += *scan->at == '-' || *scan->at == '+';
	if (g_ascii_strncasecmp(scan->at, "0x", 2) == 0) {
		scan->at += 2;
		if (!scan_integer(scan, start, 16))
			return FALSE;
	} else if (is_float(scan->at)) {
		scan->at += strspn(scan->at, ".eE+-0123456789");
	} else if (!scan_integer(scan, start, 10)) {
		return FALSE;
	}
	if (!is_name(*scan->at))
		return TRUE;
	skip_name(scan);
	return scan_unquoted(scan, start);
}

static gboolean word_is_one_of(const char *word, gsize length, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == length && g_ascii_strncasecmp(word, *words, length) == 0)
			return TRUE;
	return FALSE;
}

/* A word is a value after `=` and in lists; everywhere else it is a key. */
static gboolean value_is_due(const Scan *scan)
{
	return scan->last == '=' ||
	       (scan->depth > 0 && scan->opened[scan->depth - 1].bracket != '{');
}

static gboolean scan_name(Scan *scan)
{
	static const char *const booleans[] = { "true", "false", NULL };
	static const char *const almost[] = { "yes", "no", "on", "off", NULL };
	const char *start = scan->at;
	gsize length;

	skip_name(scan);
	length = (gsize)(scan->at - start);
	if (!value_is_due(scan) || word_is_one_of(start, length, booleans))
		return TRUE;
	if (word_is_one_of(start, length, almost))
		return scan_error(scan, "`%.*s` is not a boolean: write true or false", (int)length,
				  start);
	return scan_unquoted(scan, start);
}

static gboolean scan_open(Scan *scan)
{
	guint depth = scan->depth;

	for (const Scan *s = scan->includer; s; s = s->includer)
		depth += s->depth;
	if (depth >= RDMAD_CONFIG_MAX_DEPTH)
		return scan_error(scan, "more than %u groups and lists inside each other",
				  RDMAD_CONFIG_MAX_DEPTH);
	scan->opened[scan->depth++] = (Opened){ *scan->at++, scan->line };
	return TRUE;
}

static char closing(char bracket)
{
	return bracket == '{' ? '}' : bracket == '(' ? ')' : ']';
}

static gboolean scan_close(Scan *scan)
{
	const char bracket = *scan->at++;
	const Opened *opened;

	if (scan->depth == 0)
		return scan_error(scan, "`%c` closes nothing", bracket);
	opened = &scan->opened[--scan->depth];
	if (bracket != closing(opened->bracket))
		return scan_error(scan, "`%c` does not close the `%c` of line %u", bracket,
				  opened->bracket, opened->line);
	if (scan->last == ',' && bracket != '}')
		return scan_error(scan, "remove the comma before `%c`", bracket);
	return TRUE;
}

static gboolean scan_assignment(Scan *scan)
{
	scan->at++;
	if (++scan->totals->settings > RDMAD_CONFIG_MAX_SETTINGS)
		return scan_error(scan, "more than %u settings", RDMAD_CONFIG_MAX_SETTINGS);
	return TRUE;
}

/* Parses `@include "name"` at the start of a line.  Returns the unescaped name, or NULL if this is
 * not an @include. */
static char *scan_include_name(Scan *scan)
{
	const char *at = scan->at;
	GString *name;

	while (at > scan->text && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	if ((at > scan->text && at[-1] != '\n') || !g_str_has_prefix(scan->at, "@include"))
		return NULL;
	at = scan->at + strlen("@include");
	at += strspn(at, " \t");
	if (*at != '"')
		return NULL;
	name = g_string_new(NULL);
	for (at++; *at != '"' && *at != '\n' && *at != '\0'; at++) {
		at += *at == '\\' && (at[1] == '\\' || at[1] == '"');
		g_string_append_c(name, *at);
	}
	scan->at = *at == '"' ? at + 1 : at;
	return g_string_free(name, FALSE);
}

static gboolean include_is_nested(const Scan *scan, const char *path)
{
	for (; scan; scan = scan->includer)
		if (g_str_equal(scan->file, path))
			return TRUE;
	return FALSE;
}

/* Both paths must be canonical. */
static gboolean path_is_below(const char *path, const char *dir)
{
	const gsize n = strlen(dir);

	return g_str_has_prefix(path, dir) && (path[n] == '/' || g_str_has_suffix(dir, "/"));
}

static gboolean scan_include(Scan *scan)
{
	const char *start = scan->at;
	g_autofree char *name = scan_include_name(scan), *path = NULL, *text = NULL;
	g_autoptr(GError) error = NULL;
	Scan inner = { .includer = scan, .totals = scan->totals, .line = 1, .error = scan->error };
	gsize length;

	if (!name)
		return scan_error(scan,
				  "`@` starts only an `@include \"file\"` on a line of its own");
	if (!scan->totals->include_dir)
		return scan_error(scan, "`@include` works only in files");
	path = g_canonicalize_filename(name, scan->totals->include_dir);
	if (g_path_is_absolute(name) || !path_is_below(path, scan->totals->include_dir))
		return scan_error(scan, "@include \"%s\": give the path below %s", name,
				  scan->totals->include_dir);
	if (++scan->totals->includes > RDMAD_CONFIG_MAX_INCLUDES)
		return scan_error(scan, "more than %u `@include`", RDMAD_CONFIG_MAX_INCLUDES);
	if (include_is_nested(scan, path))
		return scan_error(scan, "@include \"%s\": the file includes itself", name);
	text = rdmad_config_source_read(path, &length, &error);
	if (!text)
		return scan_error(scan, "@include \"%s\": %s", name, error->message);
	inner.file = path;
	inner.text = inner.at = inner.copied = text;
	if (!scan_copy(scan, start) || !scan_text(&inner))
		return FALSE;
	scan->copied = scan->at;
	part_begin(scan);
	return TRUE;
}

static gboolean starts_number(const char *at)
{
	if (*at == '+' || *at == '-')
		at++;
	return g_ascii_isdigit(*at) || (*at == '.' && g_ascii_isdigit(at[1]));
}

/* Scans one token. */
static gboolean scan_token(Scan *scan)
{
	if (*scan->at == '"')
		return scan_string(scan);
	if (starts_number(scan->at))
		return scan_number(scan);
	if (g_ascii_isalpha(*scan->at) || *scan->at == '*')
		return scan_name(scan);
	if (strchr("{([", *scan->at))
		return scan_open(scan);
	if (strchr("})]", *scan->at))
		return scan_close(scan);
	if (*scan->at == '=' || *scan->at == ':')
		return scan_assignment(scan);
	if (*scan->at == '@')
		return scan_include(scan);
	scan->at++;
	return TRUE;
}

/* Skips white space and line comments.  Returns TRUE if there were any. */
static gboolean scan_blank(Scan *scan)
{
	const char *start = scan->at;

	if (*scan->at == '#' || g_str_has_prefix(scan->at, "//"))
		scan->at += strcspn(scan->at, "\n");
	for (; *scan->at != '\0' && strchr(" \t\r\n\f", *scan->at); scan->at++)
		scan->line += *scan->at == '\n';
	return scan->at > start;
}

static gboolean scan_text(Scan *scan)
{
	part_begin(scan);
	while (*scan->at != '\0') {
		const char first = *scan->at;

		if (scan_blank(scan))
			continue;
		if (g_str_has_prefix(scan->at, "/*")) {
			if (!scan_comment(scan))
				return FALSE;
			continue;
		}
		if (!scan_token(scan))
			return FALSE;
		scan->last = first == ':' ? '=' : first;
	}
	if (scan->depth == 0)
		return scan_copy(scan, scan->at);
	scan->line = scan->opened[scan->depth - 1].line;
	return scan_error(scan, "this `%c` is never closed", scan->opened[scan->depth - 1].bracket);
}

RdmadConfigText *rdmad_config_scan(const char *file, const char *text, const char *include_dir,
				   GError **error)
{
	g_autoptr(RdmadConfigText) whole = g_new0(RdmadConfigText, 1);
	Totals totals = { .include_dir = include_dir, .whole = whole };
	Scan scan = {
		.totals = &totals,
		.file = file,
		.text = text,
		.at = text,
		.copied = text,
		.line = 1,
		.error = error,
	};

	whole->text = g_string_new(NULL);
	whole->parts = g_array_new(FALSE, FALSE, sizeof(TextPart));
	g_array_set_clear_func(whole->parts, part_clear);
	return scan_text(&scan) ? g_steal_pointer(&whole) : NULL;
}
