/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <rdmad/clock.h>
#include <rdmad/doctor.h>
#include <rdmad/error.h>
#include <rdmad/fetch.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/random.h>
#include <rdmad/stats.h>
#include <string.h>

#include "credentials.h"
#include "object.h"

#define RETRY_AFTER_MAX_S 300u

struct KubeClient {
	RdmadModule *self;
	const KubeSettings *settings;
	RdmadStat *requests, *success;
	gint64 success_us, error_us; /* wall clock; 0: never */
	char *error;		     /* the last error */
	GQueue problems;	     /* KubeProblem, in the order in which they came up */
};

struct KubeProblem {
	KubeClient *client;
	guint status;
	gboolean is_of_object;
	char *error; /* NULL: none */
	GList node;
};

struct KubeCall {
	KubeClient *client;
	const KubeCallClass *klass;
	gpointer data;
	char *path, *body;
	guint timeout_ms;
	char *token;	    /* the header sent */
	gboolean is_resent; /* retried with another token */
	gint64 sent_us;	    /* monotonic */
	gboolean is_begun;  /* the response has begun, a watch's */
	RdmadFetch *fetch;
	RdmadEvent *failed; /* armed: the request could not be started */
	GError *error;
};

static const RdmadStatClass requests_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_kube_requests",
	.help = "Completed requests to the API server, by verb and status; 0 means no response",
	.labels = { "verb", "code" },
};

static const RdmadStatClass success_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_kube_last_success_timestamp_seconds",
	.unit = "seconds",
	.help = "Time of the last response of the API server with a status of 2xx",
};

static void call_free(KubeCall *call)
{
	rdmad_fetch_cancel(call->fetch);
	rdmad_event_free(call->failed);
	g_clear_error(&call->error);
	g_free(call->path);
	g_free(call->body);
	g_free(call->token);
	g_free(call);
}

/* ---- state of the server ---- */

typedef struct {
	guint from, to;
	const char *state;
	const char *advice; /* NULL: of what was requested */
} StatusClass;

static const StatusClass status_classes[] = {
	{ 0, 0, "unreachable", "check server, ca_file, token_file and the network: rdmad-kube(7)" },
	{ 1, 299, "failing", "what answers is no API server: check server" },
	{ 300, 399, "redirected", "set server to the address of the API server itself" },
	{ 401, 401, "unauthorized", "check token_file: the API server rejects its token" },
	{ 403, 403, "forbidden", NULL },
	{ 404, 404, "refused", "check node: the API server does not have the object" },
	{ 408, 408, "refused", "rdmad tries again: see the API server's log" },
	{ 409, 409, "refused", "rdmad tries again: another client changes the object, too" },
	{ 410, 410, "refused", "rdmad tries again: the API server no longer has that version" },
	{ 422, 422, "refused",
	  "the API server rejects what rdmad writes: check the configuration" },
	{ 429, 429, "throttled", "rdmad tries again: the API server limits its clients" },
	{ 400, 499, "refused", "check server, and the admission policies of the cluster" },
	{ 500, G_MAXUINT, "failing", "rdmad tries again: see the API server's log" },
};

static const StatusClass *status_class(guint status)
{
	const StatusClass *klass = status_classes;

	while (status < klass->from || status > klass->to)
		klass++;
	return klass;
}

static void client_succeeded(KubeClient *client)
{
	client->success_us = rdmad_wall_us();
	rdmad_stat_set(client->success, (double)client->success_us / G_USEC_PER_SEC, NULL);
}

static void client_note(KubeClient *client, const KubeCall *call, guint status, const GError *error)
{
	g_autofree char *code = g_strdup_printf("%u", status);
	g_autofree char *text = NULL;

	rdmad_stat_add(client->requests, 1, (const char *const[]){ call->klass->verb, code, NULL });
	if (status / 100 == 2)
		client_succeeded(client);
	if (!error || kube_status_is_of_object(status, error))
		return;
	text = g_strdup_printf("%s: %s", call->klass->verb, error->message);
	if (g_strcmp0(text, client->error))
		rdmad_warn("%s", text);
	g_free(client->error);
	client->error = g_steal_pointer(&text);
	client->error_us = rdmad_wall_us();
}

/* Returns the oldest problem that is the server's, or NULL. */
static const KubeProblem *client_problem(const KubeClient *client)
{
	for (const GList *l = client->problems.head; l; l = l->next) {
		const KubeProblem *problem = l->data;

		if (!problem->is_of_object)
			return problem;
	}
	return NULL;
}

static const char *client_state(const KubeClient *client)
{
	const KubeProblem *problem = client_problem(client);

	if (problem)
		return status_class(problem->status)->state;
	return client->success_us ? "ok" : "not asked yet";
}

/* ---- a call ---- */

static gboolean call_send(KubeCall *call, GError **error);

static void call_end(KubeCall *call, const KubeResult *result)
{
	const KubeCallClass *klass = call->klass;
	const gpointer data = call->data;

	client_note(call->client, call, result->status, result->error);
	call_free(call);
	klass->done(result, data);
}

static void call_failed(gpointer data)
{
	KubeCall *call = data;
	g_autoptr(GError) error = g_steal_pointer(&call->error);
	const KubeResult result = { .error = error };

	call_end(call, &result);
}

/* Retries once, at once, if the token was replaced meanwhile. */
static gboolean call_resend(KubeCall *call)
{
	g_autofree char *token = kube_token_header_read(call->client->settings->token_file, NULL);

	if (call->is_resent || !token || g_strcmp0(token, call->token) == 0)
		return FALSE;
	call->is_resent = TRUE;
	return call_send(call, NULL);
}

/* A proxy that ends a long request is no error. */
static gboolean call_was_cut(const KubeCall *call, const GError *error)
{
	return call->is_begun && rdmad_now_us() - call->sent_us >= KUBE_WATCH_STABLE_US &&
	       g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE);
}

static void fetch_done(const RdmadFetchResponse *response, const GError *why, gpointer data)
{
	KubeCall *call = data;
	g_autoptr(GError) error = why ? g_error_copy(why) : NULL;
	KubeResult result = { .status = response ? response->status : 0 };
	json_t *object = NULL;

	call->fetch = NULL;
	if (call_was_cut(call, error)) {
		g_clear_error(&error);
		result.status = 200;
	}
	if (result.status == 401 && call_resend(call))
		return;
	if (response && result.status / 100 != 2)
		kube_status_error(result.status, response->body, response->size, &error);
	else if (response && !call->klass->line)
		object = kube_object_parse(response->body, response->size, &error);
	if (response)
		result.retry_after_ms = MIN(response->retry_after_s, RETRY_AFTER_MAX_S) * 1000;
	result.object = object;
	result.error = error;
	call_end(call, &result);
	json_decref(object);
}

static void fetch_line(const char *line, gsize length, gpointer data)
{
	const KubeCall *call = data;

	call->klass->line(line, length, call->data);
}

/* A resumed watch may have no event for a minute. */
static void fetch_begun(gpointer data)
{
	KubeCall *call = data;

	call->is_begun = TRUE;
	client_succeeded(call->client);
	if (call->klass->begun)
		call->klass->begun(call->data);
}

static const RdmadFetchClass whole_class = { .done = fetch_done };
static const RdmadFetchClass lines_class = { .line = fetch_line,
					     .done = fetch_done,
					     .begun = fetch_begun };

static gboolean call_send(KubeCall *call, GError **error)
{
	const KubeSettings *settings = call->client->settings;
	const gboolean is_patch = g_str_equal(call->klass->method, "PATCH");
	g_autofree char *url = g_strconcat(settings->server, call->path, NULL);
	const char *headers[] = { NULL, "Accept: application/json", "User-Agent: rdmad",
				  is_patch ? "Content-Type: application/merge-patch+json"
					   : "Content-Type: application/json",
				  NULL };
	RdmadFetchSpec spec = {
		.method = call->klass->method,
		.url = url,
		.headers = headers,
		.connect_timeout_ms = (guint)settings->connect_timeout_ms,
		.timeout_ms = call->timeout_ms,
		.quiet_ms = call->klass->line ? (guint)settings->watch_quiet_ms : 0,
		.body_max = KUBE_OBJECT_MAX,
		.ca_file = settings->ca_file,
	};

	call->sent_us = rdmad_now_us();
	g_free(call->token);
	call->token = kube_token_header_read(settings->token_file, error);
	if (!call->token)
		return FALSE;
	headers[0] = call->token;
	if (call->body) {
		spec.body = call->body;
		spec.body_size = strlen(call->body);
	}
	call->fetch =
		rdmad_fetch_start(rdmad_module_http(call->client->self), call->client->self, &spec,
				  call->klass->line ? &lines_class : &whole_class, call, error);
	return call->fetch != NULL;
}

static KubeCall *call_new(KubeClient *client, const KubeCallClass *klass, const char *path,
			  guint timeout_ms, gpointer data)
{
	KubeCall *call = g_new0(KubeCall, 1);

	call->client = client;
	call->klass = klass;
	call->data = data;
	call->path = g_strdup(path);
	call->timeout_ms = timeout_ms;
	return call;
}

static KubeCall *call_begin(KubeCall *call)
{
	RdmadModule *self = call->client->self;

	if (call_send(call, &call->error))
		return call;
	call->failed = rdmad_loop_add_timer(rdmad_module_loop(self), self, call_failed, call);
	rdmad_event_arm(call->failed, 0);
	return call;
}

KubeCall *kube_client_call(KubeClient *client, const KubeCallClass *klass, const char *path,
			   const json_t *body, gpointer data)
{
	KubeCall *call = call_new(client, klass, path, (guint)client->settings->timeout_ms, data);

	if (body) {
		char *text = json_dumps(body, JSON_COMPACT);

		call->body = g_strdup(text);
		free(text);
	}
	return call_begin(call);
}

KubeCall *kube_client_watch(KubeClient *client, const KubeCallClass *klass, const char *path,
			    guint timeout_ms, gpointer data)
{
	return call_begin(call_new(client, klass, path, timeout_ms, data));
}

void kube_call_cancel(KubeCall *call)
{
	if (call)
		call_free(call);
}

guint kube_client_back_off_ms(const KubeClient *client, guint failures, guint retry_after_ms)
{
	const KubeSettings *settings = client->settings;
	guint64 ms = settings->retry_ms;

	for (guint i = 1; i < failures && ms < settings->retry_max_ms; i++)
		ms *= 2;
	ms = MIN(ms, settings->retry_max_ms);
	ms = ms / 2 + rdmad_random_range(0, (guint32)(ms / 2) + 1);
	return (guint)MAX(ms, retry_after_ms);
}

/* ---- the client ---- */

KubeClient *kube_client_new(RdmadModule *self, const KubeSettings *settings, GError **error)
{
	KubeClient *client = g_new0(KubeClient, 1);
	RdmadStats *stats = rdmad_module_stats(self);

	client->self = self;
	client->settings = settings;
	g_queue_init(&client->problems);
	client->requests = rdmad_stats_add(stats, self, &requests_class, NULL, error);
	client->success =
		client->requests ? rdmad_stats_add(stats, self, &success_class, NULL, error) : NULL;
	if (client->success)
		return client;
	kube_client_free(client);
	return NULL;
}

void kube_client_free(KubeClient *client)
{
	if (!client)
		return;
	rdmad_stat_free(client->requests);
	rdmad_stat_free(client->success);
	g_free(client->error);
	g_free(client);
}

/* RFC 3339, in UTC. */
static json_t *time_json(gint64 us)
{
	g_autoptr(GDateTime) time = us ? g_date_time_new_from_unix_utc(us / G_USEC_PER_SEC) : NULL;
	g_autofree char *text = time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : NULL;

	return text ? json_string(text) : json_null();
}

json_t *kube_client_status(const KubeClient *client)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s?}", "server", client->settings->server, "state",
			 client_state(client), "last_success", time_json(client->success_us),
			 "last_error_time", time_json(client->error_us), "last_error",
			 client->error);
}

void kube_client_doctor(const KubeClient *client, json_t *findings)
{
	const KubeProblem *problem = client_problem(client);
	g_autofree char *text = NULL;

	if (problem) {
		const StatusClass *klass = status_class(problem->status);

		text = g_strdup_printf("%s is %s: %s", client->settings->server, klass->state,
				       problem->error);
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, "API server", text,
				 klass->advice ?: "check the RBAC rules: rdmad-kube(7)");
		return;
	}
	text = g_strdup_printf(client->success_us ? "%s answers" : "%s is not asked yet",
			       client->settings->server);
	rdmad_doctor_add(findings, client->success_us ? RDMAD_FINDING_OK : RDMAD_FINDING_NOTE,
			 "API server", text, NULL);
}

/* ---- problems ---- */

KubeProblem *kube_problem_new(KubeClient *client)
{
	KubeProblem *problem = g_new0(KubeProblem, 1);

	problem->client = client;
	problem->node.data = problem;
	return problem;
}

void kube_problem_clear(KubeProblem *problem)
{
	if (problem->error)
		g_queue_unlink(&problem->client->problems, &problem->node);
	g_clear_pointer(&problem->error, g_free);
}

void kube_problem_set(KubeProblem *problem, guint status, const GError *error)
{
	if (!problem->error)
		g_queue_push_tail_link(&problem->client->problems, &problem->node);
	g_free(problem->error);
	problem->error = g_strdup(error->message);
	problem->status = status;
	problem->is_of_object = kube_status_is_of_object(status, error);
}

void kube_problem_free(KubeProblem *problem)
{
	if (!problem)
		return;
	kube_problem_clear(problem);
	g_free(problem);
}

const char *kube_problem_text(const KubeProblem *problem)
{
	return problem->error;
}

void kube_problem_doctor(const KubeProblem *problem, const char *subject, const char *without_right,
			 json_t *findings)
{
	if (problem->error)
		rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, subject, problem->error,
				 status_class(problem->status)->advice ?: without_right);
}
