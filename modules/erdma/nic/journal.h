/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journal of the NICs: the addresses given to each, and the metadata service's answer about it
 *
 * A row is written before the first step, so that whatever becomes of rdmad, the next one knows which
 * addresses are its own.  Rows are found by the MAC, which outlives names and indexes.
 */
#pragma once

#include "nic/plan.h"

typedef struct ErdmaJournal ErdmaJournal;

typedef struct {
	RdmadMac mac;
	ErdmaNicNetwork *done;	   /* NULL: nothing was done */
	ErdmaNicNetwork *metadata; /* NULL: never asked */
	gint64 metadata_us;	   /* wall clock */
} ErdmaJournalEntry;

ErdmaJournal *erdma_journal_open(RdmadModule *self, GError **error);
void erdma_journal_close(ErdmaJournal *journal);

/* Made where it is missing; it stays until the journal is closed. */
ErdmaJournalEntry *erdma_journal_entry(ErdmaJournal *journal, const RdmadMac *mac);
/* `network` is taken over.  On an error the entry is as it was. */
gboolean erdma_journal_set_done(ErdmaJournal *journal, ErdmaJournalEntry *entry,
				ErdmaNicNetwork *network, GError **error);
gboolean erdma_journal_set_metadata(ErdmaJournal *journal, ErdmaJournalEntry *entry,
				    ErdmaNicNetwork *network, gint64 now_us, GError **error);
/* Of the primary NIC, by the metadata service; none: not known. */
RdmadMac erdma_journal_primary(const ErdmaJournal *journal);
gboolean erdma_journal_set_primary(ErdmaJournal *journal, const RdmadMac *mac, GError **error);
