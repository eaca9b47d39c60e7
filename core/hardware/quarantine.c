/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/quarantine.h"

#include <errno.h>
#include <pthread.h>

struct RdmadQuarantine {
	gatomicrefcount refs;
	pthread_mutex_t lock; /* not GMutex, which the thread sanitizer does not understand */
	GHashTable *entries;  /* Entry, by its own key */
	guint count;	      /* atomic: most devices have none, and then no lock is taken */
};

typedef struct {
	RdmadCounterKey key; /* strings are its own */
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

RdmadQuarantine *rdmad_quarantine_new(void)
{
	RdmadQuarantine *quarantine = g_new0(RdmadQuarantine, 1);

	g_atomic_ref_count_init(&quarantine->refs);
	pthread_mutex_init(&quarantine->lock, NULL);
	quarantine->entries = g_hash_table_new_full(key_hash, key_equal, NULL, entry_free);
	return quarantine;
}

RdmadQuarantine *rdmad_quarantine_ref(RdmadQuarantine *quarantine)
{
	g_atomic_ref_count_inc(&quarantine->refs);
	return quarantine;
}

void rdmad_quarantine_unref(RdmadQuarantine *quarantine)
{
	if (!quarantine || !g_atomic_ref_count_dec(&quarantine->refs))
		return;
	g_hash_table_unref(quarantine->entries);
	pthread_mutex_destroy(&quarantine->lock);
	g_free(quarantine);
}

static gboolean is_empty(RdmadQuarantine *quarantine)
{
	return g_atomic_int_get((gint *)&quarantine->count) == 0;
}

static void count_entries(RdmadQuarantine *quarantine)
{
	g_atomic_int_set((gint *)&quarantine->count, (gint)g_hash_table_size(quarantine->entries));
}

int rdmad_quarantine_errnum(RdmadQuarantine *quarantine, const RdmadCounterKey *key, gint64 now_us)
{
	const Entry *entry;
	int errnum;

	if (is_empty(quarantine))
		return 0;
	pthread_mutex_lock(&quarantine->lock);
	entry = g_hash_table_lookup(quarantine->entries, key);
	errnum = entry && now_us < entry->until_us ? entry->errnum : 0;
	pthread_mutex_unlock(&quarantine->lock);
	return errnum;
}

static Entry *entry_new(RdmadQuarantine *quarantine, const RdmadCounterKey *key)
{
	Entry *entry;

	if (g_hash_table_size(quarantine->entries) == RDMAD_QUARANTINE_MAX)
		return NULL;
	entry = g_new0(Entry, 1);
	entry->key = *key;
	entry->key.netdev = g_strdup(key->netdev);
	entry->key.name = g_strdup(key->name);
	g_hash_table_insert(quarantine->entries, &entry->key, entry);
	count_entries(quarantine);
	return entry;
}

/* It has vanished, or it was never asked: we were out of descriptors, or a signal came. */
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
	entry->delay_us = entry->errnum == errnum
				  ? MIN(entry->delay_us * 2, RDMAD_QUARANTINE_LAST_US)
				  : RDMAD_QUARANTINE_FIRST_US;
	entry->errnum = errnum;
	entry->until_us = now_us + entry->delay_us;
}

void rdmad_quarantine_hold(RdmadQuarantine *quarantine, const RdmadCounterKey *key, int errnum,
			   gint64 now_us)
{
	Entry *entry;

	if (is_no_answer(errnum))
		return;
	pthread_mutex_lock(&quarantine->lock);
	entry = g_hash_table_lookup(quarantine->entries, key);
	if (!entry)
		entry = entry_new(quarantine, key);
	if (entry)
		entry_hold(entry, errnum, now_us);
	pthread_mutex_unlock(&quarantine->lock);
}

void rdmad_quarantine_lift(RdmadQuarantine *quarantine, const RdmadCounterKey *key)
{
	if (is_empty(quarantine))
		return;
	pthread_mutex_lock(&quarantine->lock);
	g_hash_table_remove(quarantine->entries, key);
	count_entries(quarantine);
	pthread_mutex_unlock(&quarantine->lock);
}
