/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "journal"

#include "service/journal-private.h"

#include <stdarg.h>

#include "base/loop-private.h"
#include "base/watch-private.h"

#define MESSAGE_MAX 1024u

/* Entries are counted references: one that is being told may leave the ring meanwhile. */
struct RdmadJournal {
	RdmadJournalEntry *ring[RDMAD_JOURNAL_MAX]; /* at sequence % RDMAD_JOURNAL_MAX */
	guint64 last;				    /* sequence of the newest; 0: none */
	guint64 told;				    /* watchers know it up to here */
	RdmadWatchList watches;
	RdmadEvent *tell;
	RdmadMeter *events;
};

static const RdmadMeterClass events_class = {
	.type = RDMAD_METER_COUNTER,
	.name = "rdmad_events",
	.help = "Entries of the journal, as `rdmad events` shows them",
	.labels = { "kind" },
};

/* A watch's ops. */
typedef struct {
	RdmadJournalFunc fn;
	guint64 after; /* nothing is replayed */
} JournalWatch;

static void entry_clear(gpointer data)
{
	RdmadJournalEntry *entry = data;

	g_free(entry->kind);
	g_free(entry->device);
	g_free(entry->pod);
	g_free(entry->resource);
	g_free(entry->claim);
	g_free(entry->message);
}

static void entry_unref(RdmadJournalEntry *entry)
{
	if (entry)
		g_rc_box_release_full(entry, entry_clear);
}

static RdmadJournalEntry **journal_slot(RdmadJournal *journal, guint64 sequence)
{
	return &journal->ring[sequence % RDMAD_JOURNAL_MAX];
}

static guint64 journal_oldest(const RdmadJournal *journal)
{
	return journal->last > RDMAD_JOURNAL_MAX ? journal->last - RDMAD_JOURNAL_MAX + 1 : 1;
}

static void watch_freed(RdmadWatch *watch, gpointer service)
{
	g_clear_pointer((gpointer *)&watch->ops, g_free);
}

static void watch_tell(RdmadWatch *watch, gpointer arg)
{
	const JournalWatch *ops = watch->ops;
	const RdmadJournalEntry *entry = arg;

	if (entry->sequence > ops->after)
		ops->fn(entry, watch->data);
}

/* What the watchers post themselves is told on the next turn. */
static void journal_tell(gpointer data)
{
	RdmadJournal *journal = data;
	const guint64 last = journal->last;

	while (journal->told < last) {
		const guint64 next = MAX(journal->told + 1, journal_oldest(journal));
		RdmadJournalEntry *entry = g_rc_box_acquire(*journal_slot(journal, next));

		journal->told = next;
		rdmad_watch_list_foreach(&journal->watches, watch_tell, entry);
		entry_unref(entry);
	}
}

RdmadJournal *rdmad_journal_new(RdmadLoop *loop)
{
	RdmadJournal *journal = g_new0(RdmadJournal, 1);

	rdmad_watch_list_init(&journal->watches);
	journal->watches.freed = watch_freed;
	journal->events = rdmad_loop_meter(loop, &events_class);
	journal->tell = rdmad_loop_add_timer(loop, NULL, journal_tell, journal);
	return journal;
}

void rdmad_journal_free(RdmadJournal *journal)
{
	if (!journal)
		return;
	rdmad_watch_list_clear(&journal->watches);
	rdmad_event_free(journal->tell);
	for (guint i = 0; i < RDMAD_JOURNAL_MAX; i++)
		entry_unref(journal->ring[i]);
	g_free(journal);
}

guint rdmad_journal_reap(RdmadJournal *journal, const RdmadModule *owner)
{
	return rdmad_watch_list_reap(&journal->watches, owner);
}

static void journal_add(RdmadJournal *journal, RdmadJournalEntry *entry)
{
	RdmadJournalEntry **slot = journal_slot(journal, entry->sequence);

	entry_unref(*slot);
	*slot = entry;
	journal->last = entry->sequence;
	if (journal->watches.watches->len)
		rdmad_event_arm(journal->tell, 0);
	else
		journal->told = journal->last;
}

/* Every entry is a line of its own in the log, whatever came before it. */
static void entry_log(const RdmadJournalEntry *entry, const RdmadLogFields *about)
{
	RdmadLogSite site = { 0 };

	if (rdmad_log_enabled(RDMAD_LOG_TOPIC, entry->level))
		rdmad_log_write(RDMAD_LOG_TOPIC, entry->level, &site, about, "%s: %s", entry->kind,
				entry->message);
}

static char *message_bounded(char *text)
{
	g_autofree char *raw = text;

	if (strlen(raw) > MESSAGE_MAX)
		raw[MESSAGE_MAX] = '\0';
	return g_utf8_make_valid(raw, -1);
}

void rdmad_journal_post(RdmadJournal *journal, RdmadLogLevel level, const char *kind,
			const RdmadLogFields *about, const char *format, ...)
{
	RdmadJournalEntry *entry = g_rc_box_new0(RdmadJournalEntry);
	va_list args;

	va_start(args, format);
	entry->message = message_bounded(g_strdup_vprintf(format, args));
	va_end(args);
	entry->sequence = journal->last + 1;
	entry->time_us = g_get_real_time();
	entry->level = level;
	entry->kind = g_strdup(kind);
	if (about) {
		entry->device = g_strdup(about->device);
		entry->pod = g_strdup(about->pod);
		entry->resource = g_strdup(about->resource);
		entry->claim = g_strdup(about->claim);
	}
	entry_log(entry, about);
	rdmad_meter_add(journal->events, 1, (const char *const[]){ kind, NULL });
	journal_add(journal, entry);
}

void rdmad_journal_foreach(RdmadJournal *journal, guint64 sequence,
			   void (*fn)(const RdmadJournalEntry *entry, gpointer data), gpointer data)
{
	const guint64 last = journal->last;

	while (sequence < last) {
		RdmadJournalEntry *entry;

		sequence = MAX(sequence + 1, journal_oldest(journal));
		entry = g_rc_box_acquire(*journal_slot(journal, sequence));
		fn(entry, data);
		entry_unref(entry);
	}
}

RdmadWatch *rdmad_journal_watch(RdmadJournal *journal, RdmadModule *owner, RdmadJournalFunc fn,
				gpointer data)
{
	JournalWatch *ops = g_new(JournalWatch, 1);

	*ops = (JournalWatch){ .fn = fn, .after = journal->last };
	return rdmad_watch_new(&journal->watches, owner, ops, data);
}
