/* SPDX-License-Identifier: Apache-2.0 */
#include "service/facts-private.h"

#include <rdmad/error.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/watch-private.h"

#define TEXT_MAX 253u

struct RdmadFacts {
	GTree *facts;	  /* name -> Fact, in the order of the names */
	GHashTable *news; /* set of names that watchers have yet to hear about */
	RdmadWatchList watches;
	RdmadEvent *tell;
};

typedef struct {
	RdmadModule *owner;
	char *value; /* a GRefString: a callback may change the fact it is told */
} Fact;

/* A watch's ops. */
typedef struct {
	RdmadFactFunc fn;
	char *name; /* NULL: every fact */
} FactWatch;

static void fact_free(gpointer data)
{
	Fact *fact = data;

	g_ref_string_release(fact->value);
	g_free(fact);
}

static void watch_freed(RdmadWatch *watch, gpointer service)
{
	FactWatch *ops = (FactWatch *)watch->ops;

	g_free(ops->name);
	g_free(ops);
	watch->ops = NULL;
}

static void watch_tell_one(RdmadWatch *watch, RdmadFacts *facts, const char *name)
{
	const FactWatch *ops = watch->ops;
	const Fact *fact = g_tree_lookup(facts->facts, name);
	char *value = fact ? g_ref_string_acquire(fact->value) : NULL;

	ops->fn(name, value, watch->data);
	g_clear_pointer(&value, g_ref_string_release);
}

/* One round: what changed, and for the new watches what there is. */
typedef struct {
	RdmadFacts *facts;
	GPtrArray *news, *all; /* names, copied: callbacks may set facts */
} Round;

static void watch_tell(RdmadWatch *watch, gpointer arg)
{
	const Round *round = arg;
	const GPtrArray *names = watch->fresh ? round->all : round->news;

	watch->fresh = FALSE;
	for (guint i = 0; i < names->len && !watch->dead; i++) {
		const FactWatch *ops = watch->ops;
		const char *name = g_ptr_array_index(names, i);

		if (!ops->name || !strcmp(ops->name, name))
			watch_tell_one(watch, round->facts, name);
	}
}

static gint name_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *news_steal(RdmadFacts *facts)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, facts->news);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		g_hash_table_iter_steal(&iter);
		g_ptr_array_add(names, name);
	}
	g_ptr_array_sort(names, name_compare);
	return names;
}

static gboolean name_collect(gpointer name, gpointer fact, gpointer names)
{
	g_ptr_array_add(names, g_strdup(name));
	return FALSE;
}

static void facts_tell(gpointer data)
{
	RdmadFacts *facts = data;
	g_autoptr(GPtrArray) news = news_steal(facts);
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
	Round round = { facts, news, all };

	g_tree_foreach(facts->facts, name_collect, all);
	rdmad_watch_list_foreach(&facts->watches, watch_tell, &round);
}

static gint tree_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	return strcmp(a, b);
}

RdmadFacts *rdmad_facts_new(RdmadLoop *loop)
{
	RdmadFacts *facts = g_new0(RdmadFacts, 1);

	facts->facts = g_tree_new_full(tree_compare, NULL, g_free, fact_free);
	facts->news = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rdmad_watch_list_init(&facts->watches);
	facts->watches.freed = watch_freed;
	facts->tell = rdmad_loop_add_timer(loop, NULL, facts_tell, facts);
	return facts;
}

void rdmad_facts_free(RdmadFacts *facts)
{
	if (!facts)
		return;
	rdmad_watch_list_clear(&facts->watches);
	rdmad_event_free(facts->tell);
	g_hash_table_unref(facts->news);
	g_tree_unref(facts->facts);
	g_free(facts);
}

static gboolean text_check(const char *what, const char *text, GError **error)
{
	const gsize size = strlen(text);

	if (size <= TEXT_MAX && g_utf8_validate(text, size, NULL))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "the %s of a fact must be UTF-8 of at most %u bytes", what, TEXT_MAX);
	return FALSE;
}

static void facts_changed(RdmadFacts *facts, const char *name)
{
	g_hash_table_add(facts->news, g_strdup(name));
	rdmad_event_arm(facts->tell, 0);
}

static void facts_remove(RdmadFacts *facts, const char *name)
{
	if (!g_tree_lookup(facts->facts, name))
		return;
	/* First: `name` may be the key itself. */
	facts_changed(facts, name);
	g_tree_remove(facts->facts, name);
}

gboolean rdmad_facts_set(RdmadFacts *facts, RdmadModule *owner, const char *name, const char *value,
			 GError **error)
{
	Fact *fact = g_tree_lookup(facts->facts, name);

	if (!value) {
		facts_remove(facts, name);
		return TRUE;
	}
	if (!*name) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "a fact needs a name");
		return FALSE;
	}
	if (!text_check("name", name, error) || !text_check("value", value, error))
		return FALSE;
	if (fact && !strcmp(fact->value, value)) {
		fact->owner = owner;
		return TRUE;
	}
	fact = g_new(Fact, 1);
	*fact = (Fact){ .owner = owner, .value = g_ref_string_new(value) };
	g_tree_insert(facts->facts, g_strdup(name), fact);
	facts_changed(facts, name);
	return TRUE;
}

const char *rdmad_facts_get(RdmadFacts *facts, const char *name)
{
	const Fact *fact = g_tree_lookup(facts->facts, name);

	return fact ? fact->value : NULL;
}

RdmadWatch *rdmad_facts_watch(RdmadFacts *facts, RdmadModule *owner, const char *name,
			      RdmadFactFunc fn, gpointer data)
{
	FactWatch *ops = g_new(FactWatch, 1);

	*ops = (FactWatch){ .fn = fn, .name = g_strdup(name) };
	rdmad_event_arm(facts->tell, 0);
	return rdmad_watch_new(&facts->watches, owner, ops, data);
}

void rdmad_facts_foreach(RdmadFacts *facts, RdmadFactFunc fn, gpointer data)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	g_tree_foreach(facts->facts, name_collect, names);
	for (guint i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		const Fact *fact = g_tree_lookup(facts->facts, name);

		if (fact)
			fn(name, fact->value, data);
	}
}

typedef struct {
	const RdmadModule *owner;
	GPtrArray *names;
} OwnedNames;

static gboolean owned_collect(gpointer name, gpointer fact, gpointer data)
{
	const OwnedNames *owned = data;

	if (((const Fact *)fact)->owner == owned->owner)
		g_ptr_array_add(owned->names, g_strdup(name));
	return FALSE;
}

guint rdmad_facts_reap(RdmadFacts *facts, const RdmadModule *owner)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	OwnedNames owned = { owner, names };

	g_tree_foreach(facts->facts, owned_collect, &owned);
	for (guint i = 0; i < names->len; i++)
		facts_remove(facts, g_ptr_array_index(names, i));
	return rdmad_watch_list_reap(&facts->watches, owner);
}
