/* SPDX-License-Identifier: Apache-2.0 */
#include "nic/journal.h"

#include <jansson.h>
#include <rdmad/error.h>
#include <rdmad/json.h>
#include <rdmad/module.h>
#include <rdmad/state.h>
#include <string.h>

#define DEPTH_MAX 4

static const char *const migrations[] = {
	"CREATE TABLE module_erdma_nics ("
	"  mac TEXT NOT NULL PRIMARY KEY, done TEXT, metadata TEXT,"
	"  metadata_us INTEGER NOT NULL, is_primary INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID",
	NULL,
};

struct ErdmaJournal {
	RdmadTables *tables;
	GPtrArray *entries; /* of ErdmaJournalEntry */
	RdmadMac primary;
};

static void entry_free(gpointer data)
{
	ErdmaJournalEntry *entry = data;

	erdma_nic_network_free(entry->done);
	erdma_nic_network_free(entry->metadata);
	g_free(entry);
}

/* ---- networks as JSON ---- */

static json_t *addresses_json(const GArray *addresses)
{
	json_t *json = json_array();
	char text[RDMAD_IP_TEXT];

	for (guint i = 0; i < addresses->len; i++)
		json_array_append_new(
			json, json_string(rdmad_ip_text(&g_array_index(addresses, RdmadIp, i), TRUE,
							text)));
	return json;
}

static char *network_text(const ErdmaNicNetwork *network)
{
	char gateway[2][RDMAD_IP_TEXT];

	if (!network)
		return NULL;
	for (guint f = 0; f < 2; f++)
		rdmad_ip_text(&network->gateway[f], FALSE, gateway[f]);
	return rdmad_json_dump(json_pack("{s:i, s:b, s:o, s:o, s:s?, s:s?}", "from",
					 (int)network->from, "complete", network->complete,
					 "addresses", addresses_json(network->addresses), "former",
					 addresses_json(network->former), "gateway4",
					 network->gateway[0].family ? gateway[0] : NULL, "gateway6",
					 network->gateway[1].family ? gateway[1] : NULL),
			       JSON_COMPACT);
}

static void addresses_parse(const json_t *json, const char *key, GArray *addresses)
{
	const json_t *value;
	gsize i;

	json_array_foreach(json_object_get(json, key), i, value)
	{
		RdmadIp ip;

		if (json_is_string(value) && rdmad_ip_parse(json_string_value(value), &ip, NULL))
			g_array_append_val(addresses, ip);
	}
}

static void gateway_parse(const json_t *json, const char *key, RdmadIp *gateway)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (text)
		rdmad_ip_parse(text, gateway, NULL);
}

/* Returns NULL if the text is absent or invalid; the addresses then come from the interface. */
static ErdmaNicNetwork *network_parse(const char *text)
{
	json_t *json = text ? rdmad_json_parse(text, strlen(text), DEPTH_MAX, NULL) : NULL;
	const json_int_t from = json_integer_value(json_object_get(json, "from"));
	ErdmaNicNetwork *network;

	if (!json)
		return NULL;
	network = erdma_nic_network_new(from >= ERDMA_ADDRESS_NETDEV && from <= ERDMA_ADDRESS_STATIC
						? (ErdmaAddressFrom)from
						: ERDMA_ADDRESS_NETDEV);
	network->complete = json_is_true(json_object_get(json, "complete"));
	addresses_parse(json, "addresses", network->addresses);
	addresses_parse(json, "former", network->former);
	gateway_parse(json, "gateway4", &network->gateway[0]);
	gateway_parse(json, "gateway6", &network->gateway[1]);
	json_decref(json);
	return network;
}

/* ---- rows ---- */

static gboolean row_put(ErdmaJournal *journal, const ErdmaJournalEntry *entry, GError **error)
{
	g_autofree char *done = network_text(entry->done);
	g_autofree char *metadata = network_text(entry->metadata);
	char mac[RDMAD_MAC_TEXT];

	return rdmad_tables_run(
		journal->tables,
		"INSERT OR REPLACE INTO module_erdma_nics"
		" (mac, done, metadata, metadata_us, is_primary) VALUES (?1, ?2, ?3, ?4, ?5)",
		RDMAD_VALUES(RDMAD_TEXT(rdmad_mac_format(&entry->mac, mac)), RDMAD_TEXT(done),
			     RDMAD_TEXT(metadata), RDMAD_INT(entry->metadata_us),
			     RDMAD_INT(rdmad_mac_equal(&entry->mac, &journal->primary))),
		error);
}

static gboolean all_put(RdmadTables *tables, gpointer data, GError **error)
{
	ErdmaJournal *journal = data;

	if (!rdmad_tables_run(tables, "DELETE FROM module_erdma_nics", NULL, 0, error))
		return FALSE;
	for (guint i = 0; i < journal->entries->len; i++)
		if (!row_put(journal, journal->entries->pdata[i], error))
			return FALSE;
	return TRUE;
}

static gboolean row_read(const RdmadRow *row, gpointer data, GError **error)
{
	ErdmaJournal *journal = data;
	ErdmaJournalEntry *entry;
	RdmadMac mac;

	if (!rdmad_mac_parse(rdmad_row_text(row, 0), &mac))
		return TRUE;
	entry = erdma_journal_entry(journal, &mac);
	entry->done = network_parse(rdmad_row_text(row, 1));
	entry->metadata = network_parse(rdmad_row_text(row, 2));
	entry->metadata_us = rdmad_row_int(row, 3);
	if (rdmad_row_int(row, 4))
		journal->primary = mac;
	return TRUE;
}

static const RdmadTablesClass tables_class = {
	.name = "erdma",
	.migrations = migrations,
	.rewrite = all_put,
};

/* ---- the journal ---- */

ErdmaJournal *erdma_journal_open(RdmadModule *self, GError **error)
{
	ErdmaJournal *journal = g_new0(ErdmaJournal, 1);

	journal->entries = g_ptr_array_new_with_free_func(entry_free);
	journal->tables =
		rdmad_tables_open(rdmad_module_state(self), self, &tables_class, journal, error);
	if (journal->tables &&
	    rdmad_tables_read(journal->tables,
			      "SELECT mac, done, metadata, metadata_us, is_primary"
			      " FROM module_erdma_nics",
			      NULL, 0, row_read, journal, error))
		return journal;
	erdma_journal_close(journal);
	return NULL;
}

void erdma_journal_close(ErdmaJournal *journal)
{
	if (!journal)
		return;
	rdmad_tables_close(journal->tables);
	g_ptr_array_unref(journal->entries);
	g_free(journal);
}

static ErdmaJournalEntry *entry_find(const ErdmaJournal *journal, const RdmadMac *mac)
{
	for (guint i = 0; i < journal->entries->len; i++) {
		ErdmaJournalEntry *entry = journal->entries->pdata[i];

		if (rdmad_mac_equal(&entry->mac, mac))
			return entry;
	}
	return NULL;
}

gboolean erdma_journal_has(const ErdmaJournal *journal, const RdmadMac *mac)
{
	const ErdmaJournalEntry *entry = entry_find(journal, mac);

	return entry && entry->done;
}

ErdmaJournalEntry *erdma_journal_entry(ErdmaJournal *journal, const RdmadMac *mac)
{
	ErdmaJournalEntry *entry = entry_find(journal, mac);

	if (entry)
		return entry;
	entry = g_new0(ErdmaJournalEntry, 1);
	entry->mac = *mac;
	g_ptr_array_add(journal->entries, entry);
	return entry;
}

/* The few rows are all written by the statement that rebuilds a lost database. */
static gboolean journal_write(ErdmaJournal *journal, GError **error)
{
	return rdmad_tables_write(journal->tables, all_put, journal, error);
}

/* Restores `member` if the write fails. */
static gboolean network_set(ErdmaJournal *journal, ErdmaNicNetwork **member,
			    ErdmaNicNetwork *network, GError **error)
{
	ErdmaNicNetwork *before = *member;
	gboolean ok;

	*member = network;
	ok = journal_write(journal, error);
	if (!ok)
		*member = before;
	erdma_nic_network_free(ok ? before : network);
	return ok;
}

gboolean erdma_journal_set_done(ErdmaJournal *journal, ErdmaJournalEntry *entry,
				ErdmaNicNetwork *network, GError **error)
{
	return network_set(journal, &entry->done, network, error);
}

gboolean erdma_journal_set_metadata(ErdmaJournal *journal, ErdmaJournalEntry *entry,
				    ErdmaNicNetwork *network, gint64 now_us, GError **error)
{
	const gint64 before_us = entry->metadata_us;

	entry->metadata_us = now_us;
	if (network_set(journal, &entry->metadata, network, error))
		return TRUE;
	entry->metadata_us = before_us;
	return FALSE;
}

RdmadMac erdma_journal_primary(const ErdmaJournal *journal)
{
	return journal->primary;
}

gboolean erdma_journal_set_primary(ErdmaJournal *journal, const RdmadMac *mac, GError **error)
{
	const RdmadMac before = journal->primary;

	if (rdmad_mac_equal(&before, mac))
		return TRUE;
	erdma_journal_entry(journal, mac);
	journal->primary = *mac;
	if (journal_write(journal, error))
		return TRUE;
	journal->primary = before;
	return FALSE;
}
