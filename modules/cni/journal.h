/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: every attachment, written to the database before any step
 *
 * Writes of one turn of the loop share one transaction.  A transaction waits for the disk only if
 * an entry has to survive a power failure, which is the case before an IPAM plugin is called.
 */
#pragma once

#include <rdmad/module.h>

#include "attachment.h"

typedef struct CniJournal CniJournal;

/* Opens the journal and reads all entries.  Errors as those of rdmad_tables_open(). */
CniJournal *cni_journal_open(RdmadModule *self, GError **error);
void cni_journal_close(CniJournal *journal);

CniAttachment *cni_journal_lookup(const CniJournal *journal, const char *key);
guint cni_journal_count(const CniJournal *journal);
/* Calls `fn` for each attachment in no particular order.  `fn` must not add or remove any. */
void cni_journal_foreach(const CniJournal *journal, void (*fn)(CniAttachment *, gpointer),
			 gpointer data);

/* Adds an attachment in memory, so that other operations see the devices it uses.  Takes
 * ownership. */
void cni_journal_add(CniJournal *journal, CniAttachment *attachment);

/* `error` NULL: the entry is written.  Called on the loop, after the call has returned. */
typedef void (*CniJournalDone)(const GError *error, gpointer data);
/* Writes the attachment in its state at the end of the turn. */
void cni_journal_write(CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
		       gpointer data);
/* Removes the attachment from the database, then from memory.  On failure it stays in both.
 *
 * An attachment that could not be written or removed is written with the next entry of any
 * other. */
void cni_journal_remove(CniJournal *journal, CniAttachment *attachment, CniJournalDone done,
			gpointer data);
