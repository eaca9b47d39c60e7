/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <rdmad/clock.h>
#include <rdmad/doctor.h>
#include <rdmad/error.h>
#include <rdmad/event-log.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/stats.h>
#include <string.h>

#include "object.h"
#include "pods.h"

#define RECORDS_MAX 256u
#define WINDOW_US   (600 * G_USEC_PER_SEC)
#define NAME_STEM   230u
#define MESSAGE_MAX 1000u

/* One Event, as the API server has it or is to have it. */
typedef struct {
	char *key;
	char *pod_namespace, *pod_name; /* NULL: the Node's */
	char *uid;			/* of the pod; NULL: not known */
	char *kind, *message;
	const char *type; /* "Warning" */
	guint count, sent_count;
	gint64 first_us, last_us; /* wall clock */
	char *name;		  /* NULL: the API server does not have it */
	GList node;
} Record;

struct KubeEvents {
	RdmadModule *self;
	KubeClient *client;
	const KubeSettings *settings;
	RdmadWatch *watch;
	GHashTable *by_key; /* key -> Record */
	GQueue records;	    /* Record, that which waits longest first */
	Record *sending;    /* NULL: nothing is under way */
	KubeCall *call;
	RdmadEvent *pause; /* armed: no request before it */
	RdmadStat *events;
	guint failures, sent, refused, dropped;
	guint serial;
	KubeProblem *problem;
};

static const RdmadStatClass events_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_kube_events",
	.help = "Events for the API server, by result: sent, refused by the server, or dropped for "
		"lack of space",
	.labels = { "result" },
};

/* ---- pure ---- */

/* Kinds that concern a person who looks at the pod or at the Node. */
static const char *const kinds[] = {
	"allocation-device-healthy",
	"allocation-device-unhealthy",
	"allocation-files-right",
	"allocation-files-wrong",
	"allocation-overlap",
	"cni-failed",
	"config-refused",
	"device-fatal",
	"device-healthy",
	"device-released",
	"device-removed",
	"device-unhealthy",
	"device-withheld",
	"driver-state",
	"mode-changed",
	"mode-unknown",
	"nccl-plan-changed",
	"port-flap",
	"scan-failed",
	"state-damaged",
	NULL,
};

char *kube_event_reason(const char *kind)
{
	GString *reason;
	gboolean upper = TRUE;

	if (!g_strv_contains(kinds, kind))
		return NULL;
	reason = g_string_new("Rdma");
	for (const char *c = kind; *c; c++) {
		if (*c != '-')
			g_string_append_c(reason, upper ? g_ascii_toupper(*c) : *c);
		upper = *c == '-';
	}
	return g_string_free(reason, FALSE);
}

static char *time_text(gint64 us)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(us / G_USEC_PER_SEC);

	return time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : g_strdup("");
}

/* ---- records ---- */

static void record_free(gpointer data)
{
	Record *record = data;

	g_free(record->key);
	g_free(record->pod_namespace);
	g_free(record->pod_name);
	g_free(record->uid);
	g_free(record->kind);
	g_free(record->message);
	g_free(record->name);
	g_free(record);
}

static gboolean record_is_due(const Record *record)
{
	return record->count != record->sent_count;
}

static void record_remove(KubeEvents *events, Record *record)
{
	g_queue_unlink(&events->records, &record->node);
	g_hash_table_remove(events->by_key, record->key);
}

/* Those that are over; where all have to be sent, there is no room. */
static gboolean room_make(KubeEvents *events, gint64 now_us)
{
	for (GList *l = events->records.head, *next; l; l = next) {
		Record *record = l->data;
		const gboolean is_over = now_us - record->last_us > WINDOW_US;

		next = l->next;
		if (record != events->sending && !record_is_due(record) &&
		    (is_over || events->records.length >= RECORDS_MAX))
			record_remove(events, record);
	}
	return events->records.length < RECORDS_MAX;
}

static Record *record_new(KubeEvents *events, char *key, const RdmadEventLogEntry *entry)
{
	Record *record = g_new0(Record, 1);
	g_auto(GStrv) pod = g_strsplit(entry->pod ? entry->pod : "", "/", 2);
	g_autofree char *path = g_strv_length(pod) == 2 ? kube_pod_path(pod[0], pod[1]) : NULL;

	record->key = key;
	record->kind = g_strdup(entry->kind);
	record->first_us = entry->time_us;
	if (path) {
		record->pod_namespace = g_strdup(pod[0]);
		record->pod_name = g_strdup(pod[1]);
	}
	record->node.data = record;
	g_queue_push_tail_link(&events->records, &record->node);
	g_hash_table_insert(events->by_key, record->key, record);
	return record;
}

static void events_count(KubeEvents *events, guint *counter, const char *result)
{
	(*counter)++;
	rdmad_stat_add(events->events, 1, (const char *const[]){ result, NULL });
}

static Record *record_of(KubeEvents *events, const RdmadEventLogEntry *entry)
{
	g_autofree char *key = g_strdup_printf(
		"%s %s %s %s", entry->kind, entry->pod ? entry->pod : "",
		entry->device ? entry->device : "", entry->resource ? entry->resource : "");
	Record *record = g_hash_table_lookup(events->by_key, key);

	if (record && entry->time_us - record->last_us > WINDOW_US && !record_is_due(record) &&
	    record != events->sending) {
		record_remove(events, record);
		record = NULL;
	}
	if (record)
		return record;
	if (!room_make(events, entry->time_us)) {
		events_count(events, &events->dropped, "dropped");
		return NULL;
	}
	return record_new(events, g_steal_pointer(&key), entry);
}

/* ---- requests ---- */

static void events_next(KubeEvents *events);

static void pause_over(gpointer data)
{
	events_next(data);
}

/* Returns whether the same request may do better later: a right may be granted. */
static gboolean may_pass(const KubeResult *result)
{
	const guint status = result->status;

	return status < 400 || status == 401 || status == 408 || status == 429 || status >= 500 ||
	       (status == 403 && !kube_status_is_of_object(status, result->error));
}

static void events_pause(KubeEvents *events, const KubeResult *result)
{
	guint ms = (guint)events->settings->event_interval_ms;

	if (result->error && may_pass(result)) {
		kube_problem_set(events->problem, result->status, result->error);
		events->failures++;
		ms = MAX(ms, kube_client_back_off_ms(events->client, events->failures,
						     result->retry_after_ms));
	} else {
		events->failures = 0;
		kube_problem_clear(events->problem);
	}
	rdmad_event_arm(events->pause, ms);
}

static void record_sent(const KubeResult *result, gpointer data)
{
	KubeEvents *events = data;
	Record *record = g_steal_pointer(&events->sending);

	events->call = NULL;
	events_pause(events, result);
	if (!result->error) {
		const char *name = kube_object_text(result->object, "name");

		if (!record->name)
			record->name = g_strdup(name ? name : "");
		events_count(events, &events->sent, "sent");
		return;
	}
	if (result->status == 404 && record->name) {
		/* It has run out there: a new one. */
		g_clear_pointer(&record->name, g_free);
		record->sent_count = 0;
	} else if (may_pass(result)) {
		record->sent_count = 0;
	} else {
		events_count(events, &events->refused, "refused");
	}
}

static const KubeCallClass create_class = { .verb = "create",
					    .method = "POST",
					    .done = record_sent };
static const KubeCallClass patch_class = { .verb = "patch",
					   .method = "PATCH",
					   .done = record_sent };

/* As kubelet does, the Node's name is its UID here: each version of `kubectl describe node` looks
 * for that. `kubectl events --for` looks for the apiVersion. */
static json_t *record_about(const KubeEvents *events, const Record *record)
{
	const char *node = events->settings->node;

	if (!record->pod_name)
		return json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind", "Node", "name",
				 node, "uid", node);
	return json_pack("{s:s, s:s, s:s, s:s, s:s*}", "apiVersion", "v1", "kind", "Pod",
			 "namespace", record->pod_namespace, "name", record->pod_name, "uid",
			 record->uid);
}

static char *event_name(KubeEvents *events, const Record *record)
{
	const char *stem = record->pod_name ? record->pod_name : events->settings->node;
	g_autofree char *cut = g_strndup(stem, NAME_STEM);

	for (gsize n = strlen(cut); n && !g_ascii_isalnum(cut[n - 1]); n--)
		cut[n - 1] = '\0';
	return g_strdup_printf("%s.%" G_GINT64_MODIFIER "x%x", cut, rdmad_wall_us(),
			       ++events->serial & 0xfff);
}

static json_t *event_new(KubeEvents *events, const Record *record, const char *event_namespace)
{
	g_autofree char *name = event_name(events, record);
	g_autofree char *reason = kube_event_reason(record->kind);
	g_autofree char *first = time_text(record->first_us), *last = time_text(record->last_us);

	return json_pack(
		"{s:s, s:s, s:{s:s, s:s}, s:o, s:s, s:s, s:s, s:i, s:s, s:s, s:{s:s, s:s}, "
		"s:s, s:s}",
		"apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
		event_namespace, "involvedObject", record_about(events, record), "type",
		record->type, "reason", reason, "message", record->message, "count",
		(int)record->count, "firstTimestamp", first, "lastTimestamp", last, "source",
		"component", "rdmad", "host", events->settings->node, "reportingComponent",
		"rdmad.io/rdmad", "reportingInstance", events->settings->node);
}

static json_t *event_patch(const Record *record)
{
	g_autofree char *last = time_text(record->last_us);

	return json_pack("{s:i, s:s, s:s, s:s}", "count", (int)record->count, "lastTimestamp", last,
			 "message", record->message, "type", record->type);
}

static void record_send(KubeEvents *events, Record *record)
{
	const char *event_namespace = record->pod_namespace ? record->pod_namespace : "default";
	g_autofree char *path =
		g_strdup_printf("/api/v1/namespaces/%s/events%s%s", event_namespace,
				record->name ? "/" : "", record->name ? record->name : "");
	json_t *body =
		record->name ? event_patch(record) : event_new(events, record, event_namespace);

	record->sent_count = record->count;
	events->call = kube_client_call(events->client, record->name ? &patch_class : &create_class,
					path, body, events);
	json_decref(body);
}

/* The Event of a pod that had the name before is not that of this one. */
static void record_set_uid(Record *record, const char *uid)
{
	if (record->uid && !g_str_equal(record->uid, uid)) {
		g_clear_pointer(&record->name, g_free);
		record->count = 1;
		record->first_us = record->last_us;
	}
	g_free(record->uid);
	record->uid = g_strdup(uid);
}

/* Without its UID the Event of a pod that does not exist, or that RBAC hides, is still in `kubectl
 * get events`.  After an error that may pass the record, which is still due, waits for its next
 * turn. */
static void pod_got(const KubeResult *result, gpointer data)
{
	KubeEvents *events = data;
	Record *record = events->sending;
	const char *uid = kube_object_text(result->object, "uid");

	events->call = NULL;
	if (result->error && result->status != 403 && may_pass(result)) {
		events->sending = NULL;
		events_pause(events, result);
		return;
	}
	if (uid)
		record_set_uid(record, uid);
	record_send(events, record);
}

static const KubeCallClass get_class = { .verb = "get", .method = "GET", .done = pod_got };

static Record *record_due(KubeEvents *events)
{
	for (GList *l = events->records.head; l; l = l->next)
		if (record_is_due(l->data))
			return l->data;
	return NULL;
}

/* Sends one Event; its record goes behind the others, so that each gets its turn.  Its pod is asked
 * for each time, because another may have the name by now. */
static void events_next(KubeEvents *events)
{
	Record *record;
	g_autofree char *path = NULL;

	if (events->sending || rdmad_event_armed(events->pause))
		return;
	record = record_due(events);
	if (!record)
		return;
	g_queue_unlink(&events->records, &record->node);
	g_queue_push_tail_link(&events->records, &record->node);
	events->sending = record;
	if (record->pod_name) {
		path = kube_pod_path(record->pod_namespace, record->pod_name);
		events->call = kube_client_call(events->client, &get_class, path, NULL, events);
		return;
	}
	record_send(events, record);
}

/* ---- the event log ---- */

static void entry_added(const RdmadEventLogEntry *entry, gpointer data)
{
	KubeEvents *events = data;
	Record *record;

	if (!events->settings->events || !g_strv_contains(kinds, entry->kind))
		return;
	record = record_of(events, entry);
	if (!record)
		return;
	record->count++;
	record->last_us = entry->time_us;
	record->type = entry->level <= RDMAD_LOG_WARNING ? "Warning" : "Normal";
	g_free(record->message);
	record->message =
		g_utf8_make_valid(entry->message, (gssize)strnlen(entry->message, MESSAGE_MAX));
	events_next(events);
}

KubeEvents *kube_events_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			    GError **error)
{
	KubeEvents *events = g_new0(KubeEvents, 1);

	events->self = self;
	events->client = client;
	events->settings = settings;
	events->problem = kube_problem_new(client);
	events->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, record_free);
	g_queue_init(&events->records);
	events->pause = rdmad_loop_add_timer(rdmad_module_loop(self), self, pause_over, events);
	events->watch =
		rdmad_event_log_watch(rdmad_module_event_log(self), self, entry_added, events);
	events->events =
		rdmad_stats_add(rdmad_module_stats(self), self, &events_class, NULL, error);
	if (!events->events)
		g_clear_pointer(&events, kube_events_free);
	return events;
}

void kube_events_free(KubeEvents *events)
{
	if (!events)
		return;
	rdmad_watch_free(events->watch);
	kube_call_cancel(events->call);
	rdmad_event_free(events->pause);
	g_hash_table_unref(events->by_key);
	rdmad_stat_free(events->events);
	kube_problem_free(events->problem);
	g_free(events);
}

void kube_events_reload(KubeEvents *events)
{
	if (events->settings->events)
		return;
	kube_call_cancel(g_steal_pointer(&events->call));
	events->sending = NULL;
	g_hash_table_remove_all(events->by_key);
	g_queue_init(&events->records);
	events->failures = 0;
	kube_problem_clear(events->problem);
}

json_t *kube_events_status(const KubeEvents *events)
{
	return json_pack("{s:b, s:i, s:i, s:i, s:i, s:s?}", "enabled", events->settings->events,
			 "kept", (int)events->records.length, "sent", (int)events->sent, "refused",
			 (int)events->refused, "dropped", (int)events->dropped, "error",
			 kube_problem_text(events->problem));
}

void kube_events_doctor(const KubeEvents *events, json_t *findings)
{
	kube_problem_doctor(events->problem, "Events",
			    "the service account needs create and patch on events, or set events = "
			    "false",
			    findings);
}
