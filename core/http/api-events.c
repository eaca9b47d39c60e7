/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/events?after=SEQUENCE&wait=SECONDS
 *
 * Entries after SEQUENCE, oldest first, and the last sequence there is.  With nothing to tell and
 * `wait` given, the answer comes with the first new entry or when the time is over (a long poll).
 * A `last` below the caller's SEQUENCE means that rdmad was restarted: begin again from 0.
 */
#include <rdmad/inventory.h>
#include <rdmad/journal.h>
#include <rdmad/loop.h>

#include "base/log-private.h"
#include "http/api-private.h"
#include "http/http-private.h"

#define MAX_WAIT_S 60u

typedef struct {
	json_t *array;
	guint64 last;
} Listing;

static void listing_add(const RdmadJournalEntry *entry, gpointer data)
{
	Listing *listing = data;
	json_t *object = json_object();

	listing->last = entry->sequence;
	api_set(object, "sequence", json_integer(entry->sequence));
	api_set(object, "time", api_json_time(entry->time_us));
	api_set(object, "level", json_string(rdmad_log_level_name(entry->level)));
	api_set(object, "kind", api_json_string(entry->kind));
	api_set(object, "device", api_json_string(entry->device));
	api_set(object, "pod", api_json_string(entry->pod));
	api_set(object, "resource", api_json_string(entry->resource));
	api_set(object, "claim", api_json_string(entry->claim));
	api_set(object, "message", api_json_string(entry->message));
	json_array_append_new(listing->array, object);
}

static void note_last(const RdmadJournalEntry *entry, gpointer data)
{
	guint64 *last = data;

	*last = entry->sequence;
}

static guint64 journal_last(RdmadJournal *journal)
{
	guint64 last = 0;

	rdmad_journal_foreach(journal, 0, note_last, &last);
	return last;
}

static void reply_events(RdmadHttpRequest *request, RdmadJournal *journal, guint64 after)
{
	Listing listing = { json_array(), 0 };
	json_t *object = json_object();

	rdmad_journal_foreach(journal, after, listing_add, &listing);
	if (!listing.last)
		listing.last = journal_last(journal);
	api_set(object, "events", listing.array);
	api_set(object, "last", json_integer(listing.last));
	rdmad_http_reply_json(request, object);
}

typedef struct {
	RdmadHttpRequest *request;
	RdmadJournal *journal;
	guint64 after;
	RdmadWatch *watch;
	RdmadEvent *timer;
} Poll;

static void poll_free(gpointer data)
{
	Poll *poll = data;

	rdmad_watch_free(poll->watch);
	rdmad_event_free(poll->timer);
	g_free(poll);
}

static void poll_answer(gpointer data)
{
	Poll *poll = data;

	rdmad_http_request_on_gone(poll->request, NULL, NULL);
	reply_events(poll->request, poll->journal, poll->after);
	poll_free(poll);
}

/* On the next turn, so that entries of one moment leave in one answer. */
static void poll_posted(const RdmadJournalEntry *entry, gpointer data)
{
	Poll *poll = data;

	rdmad_event_arm(poll->timer, 0);
}

static void poll_start(RdmadHttpRequest *request, const RdmadServices *services, guint64 after,
		       guint wait_s)
{
	Poll *poll = g_new0(Poll, 1);

	poll->request = request;
	poll->journal = services->journal;
	poll->after = after;
	poll->watch = rdmad_journal_watch(services->journal, NULL, poll_posted, poll);
	poll->timer = rdmad_loop_add_timer(services->loop, NULL, poll_answer, poll);
	rdmad_event_arm(poll->timer, wait_s * 1000);
	rdmad_http_request_on_gone(request, poll_free, poll);
}

/* FALSE when it was refused. */
static gboolean read_number(RdmadHttpRequest *request, const char *name, guint64 max,
			    guint64 *value)
{
	const char *text = rdmad_http_request_query(request, name);

	*value = 0;
	if (!text)
		return TRUE;
	if (g_ascii_string_to_unsigned(text, 10, 0, max, value, NULL))
		return TRUE;
	rdmad_http_fail(request, 400, "\"%s\" must be a number from 0 to %" G_GUINT64_FORMAT, name,
			max);
	return FALSE;
}

void api_get_events(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	guint64 after, wait_s;

	if (!read_number(request, "after", G_MAXINT64, &after) ||
	    !read_number(request, "wait", MAX_WAIT_S, &wait_s))
		return;
	if (!wait_s || journal_last(services->journal) != after)
		reply_events(request, services->journal, after);
	else if (rdmad_http_request_park(request))
		poll_start(request, services, after, wait_s);
}
