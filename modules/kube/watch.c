/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/random.h>

#include "object.h"

struct KubeWatch {
	RdmadModule *self;
	KubeClient *client;
	const KubeSettings *settings;
	const KubeWatchClass *klass;
	gpointer data;
	char *selector;	     /* escaped */
	char *version;	     /* resourceVersion; NULL: list */
	char *newer_version; /* a newer version, from kube_watch_update(); NULL: none */
	KubeCall *call;
	RdmadEvent *retry;
	guint failures;	 /* consecutive */
	gint64 began_us; /* of the watch, monotonic */
	gint64 heard_us; /* monotonic; 0: never */
	gboolean is_watching;
	KubeProblem *problem;
	RdmadEvent *stable; /* armed: the watch has begun after a failure */
};

static void watch_begin(gpointer data);

static void watch_wait(KubeWatch *watch, guint ms)
{
	watch->is_watching = FALSE;
	rdmad_event_disarm(watch->stable);
	rdmad_event_arm(watch->retry, ms);
}

static void watch_failed(KubeWatch *watch, const KubeResult *result, const GError *error)
{
	kube_problem_set(watch->problem, result->status, error);
	watch->failures++;
	watch_wait(watch,
		   kube_client_back_off_ms(watch->client, watch->failures, result->retry_after_ms));
}

static void version_set(KubeWatch *watch, const char *version)
{
	char *copy = g_strdup(version);

	g_free(watch->version);
	watch->version = copy;
	watch->heard_us = rdmad_now_us();
}

/* ---- list ---- */

static gboolean list_read(KubeWatch *watch, const json_t *list, GError **error)
{
	const char *version = kube_object_text(list, "resourceVersion");
	json_t *items = json_object_get(list, "items");

	if (!version || !*version || !(json_is_array(items) || json_is_null(items))) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "a list without items and resourceVersion");
		return FALSE;
	}
	version_set(watch, version);
	g_clear_pointer(&watch->newer_version, g_free);
	if (!json_array_size(items))
		watch->klass->removed(watch->data);
	for (size_t i = 0; i < json_array_size(items); i++)
		watch->klass->changed(json_array_get(items, i), watch->data);
	return TRUE;
}

static void list_done(const KubeResult *result, gpointer data)
{
	KubeWatch *watch = data;
	g_autoptr(GError) error = result->error ? g_error_copy(result->error) : NULL;

	watch->call = NULL;
	if (error || !list_read(watch, result->object, &error)) {
		watch_failed(watch, result, error);
		return;
	}
	kube_problem_clear(watch->problem);
	watch_wait(watch, 0);
}

static const KubeCallClass list_class = { .verb = "list", .method = "GET", .done = list_done };

/* ---- watch ---- */

/* Cancels the watch after an invalid line, so that the object is listed again. */
static void watch_abandon(KubeWatch *watch, guint status, const GError *error)
{
	const KubeResult result = { .status = status };

	kube_call_cancel(g_steal_pointer(&watch->call));
	g_clear_pointer(&watch->version, g_free);
	watch_failed(watch, &result, error);
}

static void event_dispatch(KubeWatch *watch, KubeEventType type, const json_t *object)
{
	if (kube_version_is_newer(watch->newer_version, watch->version))
		return;
	g_clear_pointer(&watch->newer_version, g_free);
	if (type == KUBE_EVENT_CHANGED)
		watch->klass->changed(object, watch->data);
	else if (type == KUBE_EVENT_DELETED)
		watch->klass->removed(watch->data);
}

static void watch_line(const char *line, gsize length, gpointer data)
{
	KubeWatch *watch = data;
	g_autofree char *version = NULL;
	g_autoptr(GError) error = NULL;
	json_t *object = NULL;
	guint status;
	const KubeEventType type =
		kube_watch_line_parse(line, length, &object, &version, &status, &error);

	if (error) {
		g_prefix_error(&error, "watch of %s: ", watch->klass->resource);
		rdmad_debug("%s", error->message);
		watch_abandon(watch, status, error);
		return;
	}
	kube_problem_clear(watch->problem);
	version_set(watch, version);
	event_dispatch(watch, type, object);
	json_decref(object);
}

/* Resumes the watch at the last version, unless the server no longer has it. */
static void watch_done(const KubeResult *result, gpointer data)
{
	KubeWatch *watch = data;
	const gboolean was_stable = rdmad_now_us() - watch->began_us >= KUBE_WATCH_STABLE_US;
	g_autoptr(GError) early = NULL;

	watch->call = NULL;
	if (was_stable)
		watch->failures = 0;
	/* A line that is too long would be repeated. */
	if (result->error && (g_error_matches(result->error, RDMAD_ERROR, RDMAD_ERROR_GONE) ||
			      g_error_matches(result->error, RDMAD_ERROR, RDMAD_ERROR_LIMIT)))
		g_clear_pointer(&watch->version, g_free);
	if (was_stable && !result->error) {
		watch_wait(watch, 0);
		return;
	}
	if (!result->error)
		early = g_error_new(RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
				    "the watch of %s ended early", watch->klass->resource);
	watch_failed(watch, result, early ? early : result->error);
}

/* A resumed watch works, although it may have no events for a while. */
static void watch_begun(gpointer data)
{
	KubeWatch *watch = data;

	if (kube_problem_text(watch->problem))
		rdmad_event_arm(watch->stable, KUBE_WATCH_STABLE_US / 1000);
}

static void watch_stable(gpointer data)
{
	KubeWatch *watch = data;

	kube_problem_clear(watch->problem);
}

static const KubeCallClass watch_class = {
	.verb = "watch",
	.method = "GET",
	.line = watch_line,
	.begun = watch_begun,
	.done = watch_done,
};

static void watch_begin(gpointer data)
{
	KubeWatch *watch = data;
	g_autoptr(GString) path = g_string_new(watch->klass->path);
	const guint least_s = (guint)(watch->settings->watch_timeout_ms / 1000);
	const guint seconds = rdmad_random_range(least_s, least_s * 2 + 1);

	g_string_append_printf(path, "?fieldSelector=%s", watch->selector);
	if (!watch->version) {
		watch->call = kube_client_call(watch->client, &list_class, path->str, NULL, watch);
		return;
	}
	g_string_append_printf(path, "&watch=1&allowWatchBookmarks=true&timeoutSeconds=%u",
			       seconds);
	g_string_append(path, "&resourceVersion=");
	g_string_append_uri_escaped(path, watch->version, NULL, FALSE);
	watch->began_us = rdmad_now_us();
	watch->is_watching = TRUE;
	/* The timeout ends a watch that the server does not end. */
	watch->call = kube_client_watch(watch->client, &watch_class, path->str,
					seconds * 1000 + (guint)watch->settings->timeout_ms, watch);
}

KubeWatch *kube_watch_new(RdmadModule *self, KubeClient *client, const KubeSettings *settings,
			  const KubeWatchClass *klass, const char *selector, gpointer data)
{
	KubeWatch *watch = g_new0(KubeWatch, 1);

	watch->self = self;
	watch->client = client;
	watch->settings = settings;
	watch->klass = klass;
	watch->data = data;
	watch->selector = g_uri_escape_string(selector, NULL, FALSE);
	watch->problem = kube_problem_new(client);
	watch->stable = rdmad_loop_add_timer(rdmad_module_loop(self), self, watch_stable, watch);
	watch->retry = rdmad_loop_add_timer(rdmad_module_loop(self), self, watch_begin, watch);
	rdmad_event_arm(watch->retry, 0);
	return watch;
}

void kube_watch_free(KubeWatch *watch)
{
	if (!watch)
		return;
	kube_call_cancel(watch->call);
	rdmad_event_free(watch->retry);
	rdmad_event_free(watch->stable);
	kube_problem_free(watch->problem);
	g_free(watch->selector);
	g_free(watch->version);
	g_free(watch->newer_version);
	g_free(watch);
}

void kube_watch_update(KubeWatch *watch, const json_t *object)
{
	const char *version = kube_object_text(object, "resourceVersion");

	/* A list that was requested before may be older than OBJECT. */
	if (!watch->version && watch->call) {
		kube_call_cancel(g_steal_pointer(&watch->call));
		watch_wait(watch, 0);
		return;
	}
	if (!kube_version_is_newer(version, watch->version) ||
	    kube_version_is_newer(watch->newer_version, version))
		return;
	g_free(watch->newer_version);
	watch->newer_version = g_strdup(version);
	watch->klass->changed(object, watch->data);
}

double kube_watch_age(const KubeWatch *watch)
{
	return watch->heard_us ? (double)(rdmad_now_us() - watch->heard_us) / G_USEC_PER_SEC : -1;
}

const KubeProblem *kube_watch_problem(const KubeWatch *watch)
{
	return watch->problem;
}

json_t *kube_watch_status(const KubeWatch *watch)
{
	return json_pack("{s:s, s:s?, s:f, s:s?}", "state",
			 watch->is_watching ? "watching"
			 : watch->call	    ? "listing"
					    : "waiting",
			 "resource_version", watch->version, "age", kube_watch_age(watch), "error",
			 kube_problem_text(watch->problem));
}
