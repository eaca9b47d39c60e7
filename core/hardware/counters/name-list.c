/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/name-list.h"

#include <pthread.h>
#include <rdmad/intern.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *lists; /* set of RdmadNameList; NULL: there are none */

/* Compares pointers, because equal names are the same string. */
static guint list_hash(gconstpointer key)
{
	const RdmadNameList *list = key;
	guint hash = list->n;

	for (guint i = 0; i < list->n; i++)
		hash = hash * 31 + g_direct_hash(list->names[i]);
	return hash;
}

static gboolean list_equal(gconstpointer a, gconstpointer b)
{
	const RdmadNameList *x = a, *y = b;

	return x->n == y->n && !memcmp(x->names, y->names, x->n * sizeof(x->names[0]));
}

static void list_free(RdmadNameList *list)
{
	for (guint i = 0; i < list->n; i++)
		rdmad_intern_release(list->names[i]);
	g_free(list);
}

static RdmadNameList *list_make(const char *const *names, guint n)
{
	RdmadNameList *list = g_malloc(sizeof(*list) + n * sizeof(list->names[0]));

	list->refs = 1;
	list->n = n;
	for (guint i = 0; i < n; i++)
		list->names[i] = rdmad_intern(names[i]);
	return list;
}

RdmadNameList *rdmad_name_list_new(const char *const *names, guint n)
{
	RdmadNameList *list = list_make(names, n), *there;

	pthread_mutex_lock(&lock);
	if (!lists)
		lists = g_hash_table_new(list_hash, list_equal);
	there = g_hash_table_lookup(lists, list);
	if (there)
		there->refs++;
	else
		g_hash_table_add(lists, list);
	pthread_mutex_unlock(&lock);
	if (!there)
		return list;
	list_free(list);
	return there;
}

RdmadNameList *rdmad_name_list_ref(RdmadNameList *list)
{
	pthread_mutex_lock(&lock);
	list->refs++;
	pthread_mutex_unlock(&lock);
	return list;
}

static gboolean list_leave(RdmadNameList *list)
{
	if (--list->refs)
		return FALSE;
	g_hash_table_remove(lists, list);
	if (!g_hash_table_size(lists))
		g_clear_pointer(&lists, g_hash_table_unref);
	return TRUE;
}

void rdmad_name_list_unref(RdmadNameList *list)
{
	gboolean last;

	if (!list)
		return;
	pthread_mutex_lock(&lock);
	last = list_leave(list);
	pthread_mutex_unlock(&lock);
	if (last)
		list_free(list);
}
