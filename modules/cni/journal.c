/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/state.h>

#define COLUMNS                                                                                    \
	"network, container, interface, state, netns, netns_device, netns_inode, boot, "           \
	"pod_namespace, pod_name, environment, config, nics, steps, result, since_us"

static const char *const migrations[] = {
	"CREATE TABLE module_cni_journal ("
	"  network TEXT NOT NULL, container TEXT NOT NULL, interface TEXT NOT NULL,"
	"  state INTEGER NOT NULL, netns TEXT, netns_device INTEGER NOT NULL,"
	"  netns_inode INTEGER NOT NULL, boot TEXT, pod_namespace TEXT, pod_name TEXT,"
	"  environment TEXT NOT NULL, config TEXT NOT NULL, nics TEXT NOT NULL, steps TEXT,"
	"  result TEXT, since_us INTEGER NOT NULL,"
	"  PRIMARY KEY (container, interface, network)"
	") STRICT, WITHOUT ROWID",
	NULL,
};

typedef struct {
	CniAttachment *attachment;
	gboolean remove;
	CniJournalDone done;
	gpointer data;
} Entry;

struct CniJournal {
	RdmadTables *tables;
	GHashTable *attachments; /* of CniAttachment, by key */
	GQueue waiting;		 /* of Entry */
	gboolean is_behind;	 /* the last entries could not be written */
	RdmadEvent *flush;
};

/* ---- rows ---- */

static gboolean row_put(RdmadTables *tables, const CniAttachment *a, GError **error)
{
	g_autofree char *nics = cni_nics_text(a);

	return rdmad_tables_run(
		tables,
		"INSERT OR REPLACE INTO module_cni_journal (" COLUMNS ") VALUES"
		" (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
		RDMAD_VALUES(RDMAD_TEXT(a->network), RDMAD_TEXT(a->container_id),
			     RDMAD_TEXT(a->ifname), RDMAD_INT(a->state), RDMAD_TEXT(a->netns),
			     RDMAD_INT((gint64)a->netns_id.device),
			     RDMAD_INT((gint64)a->netns_id.inode), RDMAD_TEXT(a->boot),
			     RDMAD_TEXT(a->pod_namespace), RDMAD_TEXT(a->pod_name),
			     RDMAD_TEXT(a->environment), RDMAD_TEXT(a->config), RDMAD_TEXT(nics),
			     RDMAD_TEXT(a->steps), RDMAD_TEXT(a->result), RDMAD_INT(a->since_us)),
		error);
}

static gboolean row_remove(RdmadTables *tables, const CniAttachment *a, GError **error)
{
	return rdmad_tables_run(tables,
				"DELETE FROM module_cni_journal WHERE network = ?1 AND"
				" container = ?2 AND interface = ?3",
				RDMAD_VALUES(RDMAD_TEXT(a->network), RDMAD_TEXT(a->container_id),
					     RDMAD_TEXT(a->ifname)),
				error);
}

static gboolean row_take(const RdmadRow *row, gpointer data, GError **error)
{
	g_autoptr(CniAttachment) a = cni_attachment_new(NULL, NULL, rdmad_row_text(row, 7));

	a->network = g_strdup(rdmad_row_text(row, 0));
	a->container_id = g_strdup(rdmad_row_text(row, 1));
	a->ifname = g_strdup(rdmad_row_text(row, 2));
	a->state = (CniState)rdmad_row_int(row, 3);
	a->netns = g_strdup(rdmad_row_text(row, 4));
	a->netns_id.device = (dev_t)rdmad_row_int(row, 5);
	a->netns_id.inode = (ino_t)rdmad_row_int(row, 6);
	a->pod_namespace = g_strdup(rdmad_row_text(row, 8));
	a->pod_name = g_strdup(rdmad_row_text(row, 9));
	a->environment = g_strdup(rdmad_row_text(row, 10));
	a->config = g_strdup(rdmad_row_text(row, 11));
	a->steps = g_strdup(rdmad_row_text(row, 13));
	a->result = g_strdup(rdmad_row_text(row, 14));
	a->since_us = rdmad_row_int(row, 15);
	if (!cni_nics_parse(a, rdmad_row_text(row, 12), error))
		return FALSE;
	cni_journal_add(data, g_steal_pointer(&a));
	return TRUE;
}

/* Everything in memory was on the disk, or is about to be written. */
static gboolean rewrite(RdmadTables *tables, gpointer data, GError **error)
{
	const CniJournal *journal = data;
	GHashTableIter iter;
	gpointer attachment;

	if (!rdmad_tables_run(tables, "DELETE FROM module_cni_journal", NULL, 0, error))
		return FALSE;
	g_hash_table_iter_init(&iter, journal->attachments);
	while (g_hash_table_iter_next(&iter, NULL, &attachment))
		if (!row_put(tables, attachment, error))
			return FALSE;
	return TRUE;
}

static const RdmadTablesClass tables_class = { "cni", migrations, rewrite };

/* ---- writing ---- */

typedef struct {
	CniJournal *journal;
	const GQueue *entries;
} Writing;

static gboolean entries_write(RdmadTables *tables, gpointer data, GError **error)
{
	const Writing *writing = data;

	/* A NIC may pass to another pod only after its earlier attachment is written as undone. */
	if (writing->journal->is_behind && !rewrite(tables, writing->journal, error))
		return FALSE;
	for (const GList *l = writing->entries->head; l; l = l->next) {
		const Entry *entry = l->data;

		if (!(entry->remove ? row_remove : row_put)(tables, entry->attachment, error))
			return FALSE;
	}
	return TRUE;
}

static void entry_end(CniJournal *journal, Entry *entry, const GError *error)
{
	if (entry->remove && !error) {
		const CniAttachment *a = entry->attachment;
		g_autofree char *key = cni_attachment_key(a->network, a->container_id, a->ifname);

		g_hash_table_remove(journal->attachments, key);
	}
	if (entry->done)
		entry->done(error, entry->data);
	g_free(entry);
}

/* Links, addresses and sysctls end with the boot.  After another boot an entry only names the IPAM
 * plugins to call.  The entry must be on the disk before the first call, and its removal too, or
 * the plugins would be called again.  kill -9 loses nothing that is written. */
static gboolean outlives_boot(const Entry *entry)
{
	const CniAttachment *a = entry->attachment;

	return a->asked_ipam &&
	       (entry->remove || a->state == CNI_STATE_BEGUN || a->state == CNI_STATE_UNDONE);
}

static gboolean any_outlives_boot(const GQueue *entries)
{
	for (const GList *l = entries->head; l; l = l->next)
		if (outlives_boot(l->data))
			return TRUE;
	return FALSE;
}

/* All writes of one turn of the loop are one transaction. */
static void flush(gpointer data)
{
	CniJournal *journal = data;
	GQueue entries = journal->waiting;
	Writing writing = { journal, &entries };
	const gboolean is_durable = any_outlives_boot(&entries);
	g_autoptr(GError) error = NULL;
	Entry *entry;

	g_queue_init(&journal->waiting);
	(is_durable ? rdmad_tables_write : rdmad_tables_write_for_boot)(
		journal->tables, entries_write, &writing, &error);
	journal->is_behind = error != NULL;
	while ((entry = g_queue_pop_head(&entries)))
		entry_end(journal, entry, error);
}

static void entry_add(CniJournal *journal, CniAttachment *attachment, gboolean remove,
		      CniJournalDone done, gpointer data)
{
	Entry *entry = g_new0(Entry, 1);

	*entry = (Entry){ attachment, remove, done, data };
	g_queue_push_tail(&journal->waiting, entry);
	rdmad_event_arm(journal->flush, 0);
}

void cni_journal_write(CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
		       gpointer data)
{
	entry_add(journal, attachment, FALSE, done, data);
}

void cni_journal_remove(CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
			gpointer data)
{
	entry_add(journal, attachment, TRUE, done, data);
}

/* ---- the table ---- */

CniJournal *cni_journal_open(RdmadModule *self, GError **error)
{
	CniJournal *journal = g_new0(CniJournal, 1);

	g_queue_init(&journal->waiting);
	journal->attachments =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, cni_attachment_free);
	journal->flush = rdmad_loop_add_timer(rdmad_module_loop(self), self, flush, journal);
	journal->tables =
		rdmad_tables_open(rdmad_module_state(self), self, &tables_class, journal, error);
	if (journal->tables &&
	    rdmad_tables_read(journal->tables, "SELECT " COLUMNS " FROM module_cni_journal", NULL,
			      0, row_take, journal, error))
		return journal;
	cni_journal_close(journal);
	return NULL;
}

void cni_journal_close(CniJournal *journal)
{
	if (!journal)
		return;
	g_queue_clear_full(&journal->waiting, g_free);
	rdmad_event_free(journal->flush);
	rdmad_tables_close(journal->tables);
	g_hash_table_unref(journal->attachments);
	g_free(journal);
}

void cni_journal_add(CniJournal *journal, CniAttachment *a)
{
	g_hash_table_insert(journal->attachments,
			    cni_attachment_key(a->network, a->container_id, a->ifname), a);
}

CniAttachment *cni_journal_lookup(const CniJournal *journal, const char *key)
{
	return g_hash_table_lookup(journal->attachments, key);
}

guint cni_journal_count(const CniJournal *journal)
{
	return g_hash_table_size(journal->attachments);
}

void cni_journal_foreach(const CniJournal *journal, void (*fn)(CniAttachment *, gpointer),
			 gpointer data)
{
	GHashTableIter iter;
	gpointer attachment;

	g_hash_table_iter_init(&iter, journal->attachments);
	while (g_hash_table_iter_next(&iter, NULL, &attachment))
		fn(attachment, data);
}
