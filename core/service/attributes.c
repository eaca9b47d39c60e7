/* SPDX-License-Identifier: Apache-2.0 */
#include "service/attributes-private.h"

#include <rdmad/error.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/watch.h"

#define TEXT_MAX 253u

struct RdmadAttributes {
	GTree *attributes; /* name -> Attribute, sorted by name */
	GHashTable *news;  /* set of changed names that watchers are not notified of yet */
	RdmadWatchList watches;
};

typedef struct {
	RdmadModule *owner;
	char *value; /* a GRefString, because a callback may change its attribute */
} Attribute;

/* The `ops` of a watch. */
typedef struct {
	RdmadAttributeFunc fn;
	char *name; /* NULL: every attribute */
} AttributeWatch;

static void attribute_free(gpointer data)
{
	Attribute *attribute = data;

	g_ref_string_release(attribute->value);
	g_free(attribute);
}

static void watch_freed(RdmadWatch *watch, gpointer service)
{
	AttributeWatch *ops = (AttributeWatch *)watch->ops;

	g_free(ops->name);
	g_free(ops);
	watch->ops = NULL;
}

static void watch_notify(RdmadWatch *watch, gconstpointer item, gpointer service)
{
	const AttributeWatch *ops = watch->ops;
	const RdmadAttributes *attributes = service;
	const char *name = *(char *const *)item;
	const Attribute *attribute;
	char *value;

	if (ops->name && strcmp(ops->name, name) != 0)
		return;
	attribute = g_tree_lookup(attributes->attributes, name);
	value = attribute ? g_ref_string_acquire(attribute->value) : NULL;
	ops->fn(name, value, watch->data);
	g_clear_pointer(&value, g_ref_string_release);
}

static void name_clear(gpointer name)
{
	g_free(*(char **)name);
}

static gint name_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns an array of char *, which are copies, because callbacks may set attributes. */
static GArray *names_new(void)
{
	GArray *names = g_array_new(FALSE, FALSE, sizeof(char *));

	g_array_set_clear_func(names, name_clear);
	return names;
}

static GArray *attributes_take_news(gpointer service)
{
	RdmadAttributes *attributes = service;
	GArray *names = names_new();
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, attributes->news);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		g_hash_table_iter_steal(&iter);
		g_array_append_val(names, name);
	}
	g_array_sort(names, name_compare);
	return names;
}

static gboolean name_collect(gpointer name, gpointer attribute, gpointer names)
{
	char *copy = g_strdup(name);

	g_array_append_val((GArray *)names, copy);
	return FALSE;
}

static GArray *attributes_list(gpointer service)
{
	RdmadAttributes *attributes = service;
	GArray *names = names_new();

	g_tree_foreach(attributes->attributes, name_collect, names);
	return names;
}

static const RdmadNotifierClass attributes_notifier = {
	.take_news = attributes_take_news,
	.list = attributes_list,
	.notify = watch_notify,
};

static gint tree_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	return strcmp(a, b);
}

RdmadAttributes *rdmad_attributes_new(RdmadLoop *loop)
{
	RdmadAttributes *attributes = g_new0(RdmadAttributes, 1);

	attributes->attributes = g_tree_new_full(tree_compare, NULL, g_free, attribute_free);
	attributes->news = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rdmad_watch_list_init_notifier(&attributes->watches, loop, &attributes_notifier,
				       attributes);
	attributes->watches.freed = watch_freed;
	return attributes;
}

void rdmad_attributes_free(RdmadAttributes *attributes)
{
	if (!attributes)
		return;
	rdmad_watch_list_clear(&attributes->watches);
	g_hash_table_unref(attributes->news);
	g_tree_unref(attributes->attributes);
	g_free(attributes);
}

static gboolean text_check(const char *what, const char *text, GError **error)
{
	const gsize size = strlen(text);

	if (size <= TEXT_MAX && g_utf8_validate(text, size, NULL))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "the %s of an attribute must be UTF-8 of at most %u bytes", what, TEXT_MAX);
	return FALSE;
}

static void attributes_changed(RdmadAttributes *attributes, const char *name)
{
	g_hash_table_add(attributes->news, g_strdup(name));
	rdmad_watch_list_news(&attributes->watches);
}

static void attributes_remove(RdmadAttributes *attributes, const char *name)
{
	if (!g_tree_lookup(attributes->attributes, name))
		return;
	/* Called before the removal, because `name` may be the key. */
	attributes_changed(attributes, name);
	g_tree_remove(attributes->attributes, name);
}

gboolean rdmad_attributes_set(RdmadAttributes *attributes, RdmadModule *owner, const char *name,
			      const char *value, GError **error)
{
	Attribute *attribute = g_tree_lookup(attributes->attributes, name);

	if (!value) {
		attributes_remove(attributes, name);
		return TRUE;
	}
	if (!*name) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "an attribute needs a name");
		return FALSE;
	}
	if (!text_check("name", name, error) || !text_check("value", value, error))
		return FALSE;
	if (attribute && !strcmp(attribute->value, value)) {
		attribute->owner = owner;
		return TRUE;
	}
	attribute = g_new(Attribute, 1);
	*attribute = (Attribute){ .owner = owner, .value = g_ref_string_new(value) };
	g_tree_insert(attributes->attributes, g_strdup(name), attribute);
	attributes_changed(attributes, name);
	return TRUE;
}

const char *rdmad_attributes_get(RdmadAttributes *attributes, const char *name)
{
	const Attribute *attribute = g_tree_lookup(attributes->attributes, name);

	return attribute ? attribute->value : NULL;
}

RdmadWatch *rdmad_attributes_watch(RdmadAttributes *attributes, RdmadModule *owner,
				   const char *name, RdmadAttributeFunc fn, gpointer data)
{
	AttributeWatch *ops = g_new(AttributeWatch, 1);

	*ops = (AttributeWatch){ .fn = fn, .name = g_strdup(name) };
	return rdmad_watch_new(&attributes->watches, owner, ops, data);
}

void rdmad_attributes_foreach(RdmadAttributes *attributes, RdmadAttributeFunc fn, gpointer data)
{
	g_autoptr(GArray) names = attributes_list(attributes);

	for (guint i = 0; i < names->len; i++) {
		const char *name = g_array_index(names, char *, i);
		const Attribute *attribute = g_tree_lookup(attributes->attributes, name);

		if (attribute)
			fn(name, attribute->value, data);
	}
}

typedef struct {
	const RdmadModule *owner;
	GPtrArray *names;
} OwnedNames;

static gboolean owned_collect(gpointer name, gpointer attribute, gpointer data)
{
	const OwnedNames *owned = data;

	if (((const Attribute *)attribute)->owner == owned->owner)
		g_ptr_array_add(owned->names, g_strdup(name));
	return FALSE;
}

guint rdmad_attributes_reap(RdmadAttributes *attributes, const RdmadModule *owner)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	OwnedNames owned = { owner, names };

	g_tree_foreach(attributes->attributes, owned_collect, &owned);
	for (guint i = 0; i < names->len; i++)
		attributes_remove(attributes, g_ptr_array_index(names, i));
	return rdmad_watch_list_reap(&attributes->watches, owner);
}
