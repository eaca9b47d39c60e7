/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journal of the NICs: the addresses set on each, and the metadata service's answer for it
 *
 * A row is written before the first step, so that after a crash rdmad knows the addresses that it
 * set.  The key is the MAC address, which outlives names and indexes.
 */
#pragma once

#include "nic/plan.h"

typedef struct ErdmaJournal ErdmaJournal;

typedef struct {
	RdmadMac mac;
	ErdmaNicNetwork *done;	   /* NULL: nothing was set */
	ErdmaNicNetwork *metadata; /* NULL: never received */
	gint64 metadata_us;	   /* wall clock */
} ErdmaJournalEntry;

ErdmaJournal *erdma_journal_open(RdmadModule *self, GError **error);
void erdma_journal_close(ErdmaJournal *journal);

/* Returns the entry of a NIC, and makes it if it is missing.  Valid until the journal is closed. */
ErdmaJournalEntry *erdma_journal_entry(ErdmaJournal *journal, const RdmadMac *mac);
/* Returns whether rdmad has set addresses on a NIC. */
gboolean erdma_journal_has(const ErdmaJournal *journal, const RdmadMac *mac);
/* Take ownership of `network`.  After an error the entry is unchanged. */
gboolean erdma_journal_set_done(ErdmaJournal *journal, ErdmaJournalEntry *entry,
				ErdmaNicNetwork *network, GError **error);
gboolean erdma_journal_set_metadata(ErdmaJournal *journal, ErdmaJournalEntry *entry,
				    ErdmaNicNetwork *network, gint64 now_us, GError **error);
/* Returns the MAC address of the primary NIC according to the metadata service; unset: unknown. */
RdmadMac erdma_journal_primary(const ErdmaJournal *journal);
gboolean erdma_journal_set_primary(ErdmaJournal *journal, const RdmadMac *mac, GError **error);
