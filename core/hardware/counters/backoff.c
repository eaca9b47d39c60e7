/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/backoff.h"

#include <errno.h>
#include <pthread.h>

struct RdmadBackoff {
	gatomicrefcount refs;
	pthread_mutex_t lock; /* not GMutex, which the thread sanitizer does not understand */
	GHashTable *entries;  /* Entry by its key */
	guint count;	      /* atomic; most devices have no entries, and need no lock */
};

typedef struct {
	RdmadCounterKey key; /* owns its strings */
	int errnum;
	gint64 delay_us, until_us;
} Entry;

static guint text_hash(const char *text)
{
	return text ? g_str_hash(text) : 0;
}

static guint key_hash(gconstpointer data)
{
	const RdmadCounterKey *key = data;

	return (guint)key->group + 31 * key->port + 961 * text_hash(key->netdev) +
	       29791 * text_hash(key->name);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const RdmadCounterKey *x = a, *y = b;

	return x->group == y->group && x->port == y->port && !g_strcmp0(x->netdev, y->netdev) &&
	       !g_strcmp0(x->name, y->name);
}

static void entry_free(gpointer data)
{
	Entry *entry = data;

	g_free((char *)entry->key.netdev);
	g_free((char *)entry->key.name);
	g_free(entry);
}

RdmadBackoff *rdmad_backoff_new(void)
{
	RdmadBackoff *backoff = g_new0(RdmadBackoff, 1);

	g_atomic_ref_count_init(&backoff->refs);
	pthread_mutex_init(&backoff->lock, NULL);
	backoff->entries = g_hash_table_new_full(key_hash, key_equal, NULL, entry_free);
	return backoff;
}

RdmadBackoff *rdmad_backoff_ref(RdmadBackoff *backoff)
{
	g_atomic_ref_count_inc(&backoff->refs);
	return backoff;
}

void rdmad_backoff_unref(RdmadBackoff *backoff)
{
	if (!backoff || !g_atomic_ref_count_dec(&backoff->refs))
		return;
	g_hash_table_unref(backoff->entries);
	pthread_mutex_destroy(&backoff->lock);
	g_free(backoff);
}

static gboolean is_empty(RdmadBackoff *backoff)
{
	return g_atomic_int_get((gint *)&backoff->count) == 0;
}

static void count_entries(RdmadBackoff *backoff)
{
	g_atomic_int_set((gint *)&backoff->count, (gint)g_hash_table_size(backoff->entries));
}

int rdmad_backoff_errnum(RdmadBackoff *backoff, const RdmadCounterKey *key, gint64 now_us)
{
	const Entry *entry;
	int errnum;

	if (is_empty(backoff))
		return 0;
	pthread_mutex_lock(&backoff->lock);
	entry = g_hash_table_lookup(backoff->entries, key);
	errnum = entry && now_us < entry->until_us ? entry->errnum : 0;
	pthread_mutex_unlock(&backoff->lock);
	return errnum;
}

static Entry *entry_new(RdmadBackoff *backoff, const RdmadCounterKey *key)
{
	Entry *entry;

	if (g_hash_table_size(backoff->entries) == RDMAD_BACKOFF_MAX)
		return NULL;
	entry = g_new0(Entry, 1);
	entry->key = *key;
	entry->key.netdev = g_strdup(key->netdev);
	entry->key.name = g_strdup(key->name);
	g_hash_table_insert(backoff->entries, &entry->key, entry);
	count_entries(backoff);
	return entry;
}

/* Returns TRUE for errors that say nothing about the counter, which vanished or could not be
 * opened. */
static gboolean is_no_answer(int errnum)
{
	static const int errnums[] = { ENOENT, ENODEV, ENXIO, EMFILE, ENFILE, EINTR };

	for (guint i = 0; i < G_N_ELEMENTS(errnums); i++)
		if (errnum == errnums[i])
			return TRUE;
	return FALSE;
}

static void entry_hold(Entry *entry, int errnum, gint64 now_us)
{
	entry->delay_us = entry->errnum == errnum ? MIN(entry->delay_us * 2, RDMAD_BACKOFF_LAST_US)
						  : RDMAD_BACKOFF_FIRST_US;
	entry->errnum = errnum;
	entry->until_us = now_us + entry->delay_us;
}

void rdmad_backoff_hold(RdmadBackoff *backoff, const RdmadCounterKey *key, int errnum,
			gint64 now_us)
{
	Entry *entry;

	if (is_no_answer(errnum))
		return;
	pthread_mutex_lock(&backoff->lock);
	entry = g_hash_table_lookup(backoff->entries, key);
	if (!entry)
		entry = entry_new(backoff, key);
	if (entry)
		entry_hold(entry, errnum, now_us);
	pthread_mutex_unlock(&backoff->lock);
}

void rdmad_backoff_lift(RdmadBackoff *backoff, const RdmadCounterKey *key)
{
	if (is_empty(backoff))
		return;
	pthread_mutex_lock(&backoff->lock);
	g_hash_table_remove(backoff->entries, key);
	count_entries(backoff);
	pthread_mutex_unlock(&backoff->lock);
}
