/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: every attachment, in the database before anything is done for it
 *
 * Writes that come in one turn of the loop share one transaction.  It waits for the disk where an entry matters after
 * a power cut too, which is where an IPAM plugin is called.
 */
#pragma once

#include <rdmad/module.h>

#include "attachment.h"

typedef struct CniJournal CniJournal;

/* Reads what there is.  Its errors are those of rdmad_tables_open(). */
CniJournal *cni_journal_open(RdmadModule *self, GError **error);
void cni_journal_close(CniJournal *journal);

CniAttachment *cni_journal_lookup(const CniJournal *journal, const char *key);
guint cni_journal_count(const CniJournal *journal);
/* In no order; may not add or remove from inside. */
void cni_journal_foreach(const CniJournal *journal, void (*fn)(CniAttachment *, gpointer),
			 gpointer data);

/* In memory, where others see what it holds; taken over. */
void cni_journal_add(CniJournal *journal, CniAttachment *attachment);

/* `error` NULL: it is written.  Called on the loop, not from within the call. */
typedef void (*CniJournalDone)(const GError *error, gpointer data);
/* Writes the attachment as it is by then. */
void cni_journal_write(CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
		       gpointer data);
/* Forgets it, in the database and then in memory; it stays where that fails. */
void cni_journal_remove(CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
			gpointer data);
