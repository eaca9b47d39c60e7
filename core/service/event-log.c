/* SPDX-License-Identifier: Apache-2.0 */
#define RDMAD_LOG_TOPIC "event-log"

#include "service/event-log-private.h"

#include <rdmad/clock.h>
#include <stdarg.h>

#include "base/loop.h"
#include "base/watch.h"

#define MESSAGE_MAX 1024u

/* Entries are reference-counted, because an entry may leave the ring while it is reported. */
struct RdmadEventLog {
	RdmadEventLogEntry *ring[RDMAD_EVENT_LOG_MAX]; /* at sequence % RDMAD_EVENT_LOG_MAX */
	guint64 last;				       /* sequence of the newest entry; 0: none */
	guint64 reported;			       /* last sequence reported to watchers */
	RdmadWatchList watches;
	RdmadEvent *notify;
	RdmadStat *events;
};

static const RdmadStatClass events_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_events",
	.help = "Entries of the event log (`rdmad events`)",
	.labels = { "kind" },
};

/* The `ops` of a watch. */
typedef struct {
	RdmadEventLogFunc fn;
	guint64 after; /* older entries are not reported */
} EventLogWatch;

static void entry_clear(gpointer data)
{
	RdmadEventLogEntry *entry = data;

	g_free(entry->kind);
	g_free(entry->device);
	g_free(entry->pod);
	g_free(entry->resource);
	g_free(entry->allocation);
	g_free(entry->message);
}

static void entry_unref(RdmadEventLogEntry *entry)
{
	if (entry)
		g_rc_box_release_full(entry, entry_clear);
}

static RdmadEventLogEntry **event_log_slot(RdmadEventLog *event_log, guint64 sequence)
{
	return &event_log->ring[sequence % RDMAD_EVENT_LOG_MAX];
}

guint64 rdmad_event_log_last(const RdmadEventLog *event_log)
{
	return event_log->last;
}

guint64 rdmad_event_log_oldest(const RdmadEventLog *event_log)
{
	return event_log->last > RDMAD_EVENT_LOG_MAX ? event_log->last - RDMAD_EVENT_LOG_MAX + 1
						     : 1;
}

static void watch_freed(RdmadWatch *watch, gpointer service)
{
	g_clear_pointer((gpointer *)&watch->ops, g_free);
}

static void watch_notify(RdmadWatch *watch, gpointer arg)
{
	const EventLogWatch *ops = watch->ops;
	const RdmadEventLogEntry *entry = arg;

	if (entry->sequence > ops->after)
		ops->fn(entry, watch->data);
}

/* Entries posted by watchers are reported on the next turn. */
static void event_log_notify(gpointer data)
{
	RdmadEventLog *event_log = data;
	const guint64 last = event_log->last;

	while (event_log->reported < last) {
		const guint64 next =
			MAX(event_log->reported + 1, rdmad_event_log_oldest(event_log));
		RdmadEventLogEntry *entry = g_rc_box_acquire(*event_log_slot(event_log, next));

		event_log->reported = next;
		rdmad_watch_list_foreach(&event_log->watches, watch_notify, entry);
		entry_unref(entry);
	}
}

RdmadEventLog *rdmad_event_log_new(RdmadLoop *loop)
{
	RdmadEventLog *event_log = g_new0(RdmadEventLog, 1);

	rdmad_watch_list_init(&event_log->watches);
	event_log->watches.freed = watch_freed;
	event_log->events = rdmad_loop_stat(loop, &events_class);
	event_log->notify = rdmad_loop_add_timer(loop, NULL, event_log_notify, event_log);
	return event_log;
}

void rdmad_event_log_free(RdmadEventLog *event_log)
{
	if (!event_log)
		return;
	rdmad_watch_list_clear(&event_log->watches);
	rdmad_event_free(event_log->notify);
	for (guint i = 0; i < RDMAD_EVENT_LOG_MAX; i++)
		entry_unref(event_log->ring[i]);
	g_free(event_log);
}

guint rdmad_event_log_reap(RdmadEventLog *event_log, const RdmadModule *owner)
{
	return rdmad_watch_list_reap(&event_log->watches, owner);
}

static void event_log_add(RdmadEventLog *event_log, RdmadEventLogEntry *entry)
{
	RdmadEventLogEntry **slot = event_log_slot(event_log, entry->sequence);

	entry_unref(*slot);
	*slot = entry;
	event_log->last = entry->sequence;
	if (event_log->watches.watches->len)
		rdmad_event_arm(event_log->notify, 0);
	else
		event_log->reported = event_log->last;
}

/* A new site for each entry exempts entries from the log's rate limit. */
static void entry_log(const RdmadEventLogEntry *entry, const RdmadLogFields *about)
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

void rdmad_event_log_post(RdmadEventLog *event_log, RdmadLogLevel level, const char *kind,
			  const RdmadLogFields *about, const char *format, ...)
{
	RdmadEventLogEntry *entry = g_rc_box_new0(RdmadEventLogEntry);
	va_list args;

	va_start(args, format);
	entry->message = message_bounded(g_strdup_vprintf(format, args));
	va_end(args);
	entry->sequence = event_log->last + 1;
	entry->time_us = rdmad_wall_us();
	entry->level = level;
	entry->kind = g_strdup(kind);
	if (about) {
		entry->device = g_strdup(about->device);
		entry->pod = g_strdup(about->pod);
		entry->resource = g_strdup(about->resource);
		entry->allocation = g_strdup(about->allocation);
	}
	entry_log(entry, about);
	rdmad_stat_add(event_log->events, 1, (const char *const[]){ kind, NULL });
	event_log_add(event_log, entry);
}

void rdmad_event_log_foreach(RdmadEventLog *event_log, guint64 sequence,
			     void (*fn)(const RdmadEventLogEntry *entry, gpointer data),
			     gpointer data)
{
	const guint64 last = event_log->last;

	while (sequence < last) {
		RdmadEventLogEntry *entry;

		sequence = MAX(sequence + 1, rdmad_event_log_oldest(event_log));
		entry = g_rc_box_acquire(*event_log_slot(event_log, sequence));
		fn(entry, data);
		entry_unref(entry);
	}
}

RdmadWatch *rdmad_event_log_watch(RdmadEventLog *event_log, RdmadModule *owner,
				  RdmadEventLogFunc fn, gpointer data)
{
	EventLogWatch *ops = g_new(EventLogWatch, 1);

	*ops = (EventLogWatch){ .fn = fn, .after = event_log->last };
	return rdmad_watch_new(&event_log->watches, owner, ops, data);
}
