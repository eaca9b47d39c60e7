/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/json.h>

#include <jansson.h>
#include <rdmad/error.h>
#include <stdlib.h>

/* Returns the offset of the bracket that opens one level too many, or `length`.  Checked before
 * parsing, because the parser recurses up to 2048 levels. */
static gsize too_deep_at(const char *text, gsize length, guint depth)
{
	gboolean in_string = FALSE;
	guint level = 0;

	for (gsize i = 0; i < length; i++) {
		if (in_string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		else if (in_string)
			continue;
		else if ((text[i] == '{' || text[i] == '[') && ++level > depth)
			return i;
		else if ((text[i] == '}' || text[i] == ']') && level)
			level--;
	}
	return length;
}

json_t *rdmad_json_parse(const char *text, gsize length, guint depth, GError **error)
{
	const gsize deep = too_deep_at(text, length, depth);
	json_error_t problem;
	json_t *json;

	if (deep < length) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "byte %" G_GSIZE_FORMAT ": more than %u levels deep", deep, depth);
		return NULL;
	}
	json = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
	if (!json)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "byte %d: %s",
			    problem.position, problem.text);
	return json;
}

json_t *rdmad_json_string(const char *text)
{
	g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

	return valid ? json_string(valid) : json_null();
}

char *rdmad_json_dump(json_t *json, gsize flags)
{
	char *dumped = json_dumps(json, flags);
	char *text = g_strdup(dumped);

	free(dumped);
	json_decref(json);
	return text;
}
