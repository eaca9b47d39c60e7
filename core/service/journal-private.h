/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/journal.h>

#define RDMAD_JOURNAL_MAX 1024u

RdmadJournal *rdmad_journal_new(RdmadLoop *loop);
void rdmad_journal_free(RdmadJournal *journal);
guint rdmad_journal_reap(RdmadJournal *journal, const RdmadModule *owner);
