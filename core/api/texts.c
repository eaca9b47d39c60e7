/* SPDX-License-Identifier: Apache-2.0 */
#include "api/texts.h"

#include <string.h>

typedef struct {
	ApiTexts *texts;
	gconstpointer key;
	char *json; /* freed with free() */
	gsize size;
	guint round; /* of the last listing that included it */
} Text;

struct ApiTexts {
	GHashTable *table; /* key -> Text */
	gconstpointer (*ref)(gconstpointer key);
	void (*unref)(gconstpointer key);
	GString *to;
	guint round, added;
};

static void text_free(gpointer data)
{
	Text *text = data;

	if (text->texts->unref)
		text->texts->unref(text->key);
	free(text->json);
	g_free(text);
}

ApiTexts *api_texts_new(gconstpointer (*ref)(gconstpointer key), void (*unref)(gconstpointer key))
{
	ApiTexts *texts = g_new0(ApiTexts, 1);

	texts->table = g_hash_table_new_full(NULL, NULL, NULL, text_free);
	texts->ref = ref;
	texts->unref = unref;
	return texts;
}

void api_texts_free(ApiTexts *texts)
{
	g_hash_table_unref(texts->table);
	g_free(texts);
}

void api_texts_clear(ApiTexts *texts)
{
	g_hash_table_remove_all(texts->table);
}

void api_texts_begin(ApiTexts *texts, GString *to)
{
	texts->to = to;
	texts->round++;
	texts->added = 0;
	g_string_append_c(to, '[');
}

static Text *text_new(ApiTexts *texts, gconstpointer key, json_t *value)
{
	Text *text = g_new0(Text, 1);

	text->texts = texts;
	text->key = texts->ref ? texts->ref(key) : key;
	text->json = json_dumps(value, JSON_COMPACT) ?: strdup("null");
	text->size = strlen(text->json);
	json_decref(value);
	g_hash_table_insert(texts->table, (gpointer)key, text);
	return text;
}

void api_texts_add(ApiTexts *texts, gconstpointer key,
		   json_t *(*make)(gconstpointer object, gconstpointer data), gconstpointer object,
		   gconstpointer data)
{
	Text *text = g_hash_table_lookup(texts->table, key);

	if (!text)
		text = text_new(texts, key, make(object, data));
	text->round = texts->round;
	if (texts->added++)
		g_string_append_c(texts->to, ',');
	g_string_append_len(texts->to, text->json, (gssize)text->size);
}

static gboolean text_is_old(gpointer key, gpointer value, gpointer kept)
{
	const Text *text = value;

	return text->round != text->texts->round && (!kept || (guintptr)key < (guintptr)kept);
}

void api_texts_end(ApiTexts *texts, gconstpointer kept)
{
	g_string_append_c(texts->to, ']');
	if (g_hash_table_size(texts->table) > texts->added)
		g_hash_table_foreach_remove(texts->table, text_is_old, (gpointer)kept);
	texts->to = NULL;
}
