/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/registration.h"

#include <rdmad/clock.h>
#include <rdmad/hand-over.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/random.h>

#include "kubelet/endpoint-check.h"

#define LOST_AFTER_MS 2000 /* time without a stream */
#define CLOSE_GAP_MS  100  /* for kubelet to process the end of the old stream */
#define FORGET_GAP_MS                                                                              \
	1200 /* for its scan of plugins_registry, once a second, to notice the removal */
#define BACKOFF_FIRST 100
#define BACKOFF_LAST  10000
#define PART_PREFIX   "device-plugin/"
#define STABLE_US     (10 * G_USEC_PER_SEC) /* a stream of this age resets the back-off */

struct Registration {
	RdmadModule *self;
	Kubelet *kubelet;
	char *resource;
	const PluginServerOps *owner_ops;
	gpointer owner_data;

	GBytes *list;
	PluginServer *server;		/* NULL: no socket */
	RegistrationMethod method;	/* of `server` */
	RdmadSocketFile kubelet_socket; /* of the kubelet of `server` */
	gboolean connected;		/* kubelet has connected to `server` */
	RdmadGrpcRequest *call;		/* running Register */
	EndpointCheck *check;
	RdmadEvent *timer; /* the next try, or the timeout for a stream */
	guint backoff_ms;
	gint64 stream_since_us; /* 0: no stream */
	guint streams;
	gboolean leaving; /* kubelet is to close its connection to `server` */
	gboolean draining;
	RdmadHandOverPart *part;
	char *error;
};

/* ---- result ---- */

/* Logs each text once, not at each retry. */
static void set_error(Registration *registration, const char *text)
{
	const RdmadLogFields about = { .resource = registration->resource };

	if (g_strcmp0(registration->error, text) == 0)
		return;
	if (text)
		rdmad_log_full(RDMAD_LOG_WARNING, &about, "%s: not registered at kubelet: %s",
			       registration->resource, text);
	g_free(registration->error);
	registration->error = g_strdup(text);
}

static void accepted(Registration *registration)
{
	const RdmadLogFields about = { .resource = registration->resource };

	set_error(registration, NULL);
	rdmad_log_full(RDMAD_LOG_INFO, &about, "%s: registered at kubelet by %s",
		       registration->resource, plugin_server_path(registration->server));
}

/* Schedules the next try after a delay that doubles each time, with a jitter of a quarter. */
static void try_later(Registration *registration, guint at_least_ms)
{
	const guint pause = registration->backoff_ms;
	const guint jittered = rdmad_random_range(pause - pause / 4, pause + pause / 4);

	registration->backoff_ms = MIN(pause * 2, BACKOFF_LAST);
	rdmad_event_arm(registration->timer, MAX(jittered, at_least_ms));
}

/* ---- one try ---- */

static void close_server(Registration *registration)
{
	endpoint_check_end(registration->check);
	g_clear_pointer(&registration->call, rdmad_grpc_request_cancel);
	g_clear_pointer(&registration->server, plugin_server_free);
	registration->stream_since_us = 0;
	registration->streams = 0;
	registration->connected = registration->leaving = FALSE;
}

static void register_done(RdmadGrpcStatus status, const char *text, gpointer data)
{
	Registration *registration = data;
	g_autofree char *error = NULL;

	registration->call = NULL;
	if (status == RDMAD_GRPC_OK) {
		accepted(registration);
		if (!registration->stream_since_us)
			try_later(registration, LOST_AFTER_MS);
		return;
	}
	error = g_strdup_printf("Register: %s: %s", rdmad_grpc_status_name(status), text);
	set_error(registration, error);
	try_later(registration, 0);
}

static const RdmadGrpcRequestOps REGISTER_OPS = { .done = register_done };

static const PluginServerOps SERVER_OPS;

static gboolean make_server(Registration *registration)
{
	g_autofree char *path = kubelet_new_path(registration->kubelet, registration->method,
						 registration->resource);
	g_autoptr(GError) error = NULL;

	registration->server =
		plugin_server_new(registration->self, registration->resource, path,
				  registration->list, &SERVER_OPS, registration, &error);
	if (registration->server)
		return TRUE;
	set_error(registration, error->message);
	try_later(registration, 0);
	return FALSE;
}

static char *part_name(const char *resource)
{
	return g_strconcat(PART_PREFIX, resource, NULL);
}

static void register_now(Registration *registration)
{
	PluginOptions options = { 0 };

	registration->method = kubelet_registration_method(registration->kubelet);
	if (!kubelet_identify(registration->kubelet, &registration->kubelet_socket) &&
	    registration->method == REGISTRATION_LEGACY) {
		set_error(registration, "kubelet.sock is not there");
		if (!kubelet_is_away(registration->kubelet))
			try_later(registration, 0);
		return; /* the watch reports when it is created */
	}
	if (!make_server(registration))
		return;
	if (registration->method == REGISTRATION_REGISTRY)
		return; /* kubelet finds the socket by itself, at any time */
	registration->owner_ops->options(&options, registration->owner_data);
	registration->call = kubelet_register(registration->kubelet, registration->resource,
					      plugin_server_path(registration->server), &options,
					      &REGISTER_OPS, registration);
}

/* Returns the time that kubelet needs after the end of the old socket. */
static guint close_gap_ms(const Registration *registration)
{
	if (registration->connected && registration->method == REGISTRATION_REGISTRY)
		return FORGET_GAP_MS;
	return registration->stream_since_us ? CLOSE_GAP_MS : 0;
}

/* Kubelet queries the options only when it connects, so they must be unchanged. */
static gboolean handed_over_fits(const Registration *registration, const json_t *state)
{
	const json_t *method = json_object_get(state, "registration_method");
	PluginOptions now = { 0 };

	registration->owner_ops->options(&now, registration->owner_data);
	return json_integer_value(method) ==
		       (json_int_t)kubelet_registration_method(registration->kubelet) &&
	       json_is_true(json_object_get(state, "preferred")) == now.preferred &&
	       json_is_true(json_object_get(state, "pre_start")) == now.pre_start;
}

/* The previous process has left the file of its socket. */
static void discard(Registration *registration, RdmadInheritedPart *part)
{
	rdmad_inherited_part_free(part);
	kubelet_remove_stale_sockets(registration->kubelet);
}

/* Returns TRUE if kubelet's connection was taken over from the previous process. */
static gboolean take_over(Registration *registration)
{
	const RdmadLogFields about = { .resource = registration->resource };
	g_autofree char *name = part_name(registration->resource);
	g_autoptr(RdmadInheritedPart) part =
		rdmad_hand_over_take(rdmad_module_hand_over(registration->self), name);
	g_autoptr(GError) error = NULL;

	if (!part || registration->server)
		return FALSE;
	/* Kubelet stops what is taken over when it notices the end of connections older than
	 * these. */
	if (kubelet_lost_socket(registration->kubelet, registration->resource, rdmad_now_us()) ||
	    !handed_over_fits(registration, part->state)) {
		discard(registration, g_steal_pointer(&part));
		return FALSE;
	}
	registration->method = kubelet_registration_method(registration->kubelet);
	kubelet_identify(registration->kubelet, &registration->kubelet_socket);
	registration->server =
		plugin_server_take(registration->self, registration->resource, part,
				   registration->list, &SERVER_OPS, registration, &error);
	if (!registration->server) {
		rdmad_warn("%s: %s", registration->resource, error->message);
		discard(registration, g_steal_pointer(&part));
		return FALSE;
	}
	kubelet_own_socket(registration->kubelet, plugin_server_path(registration->server));
	/* A part is given only while kubelet is connected. */
	registration->connected = TRUE;
	rdmad_log_full(RDMAD_LOG_INFO, &about, "%s: taken over, %s", registration->resource,
		       plugin_server_path(registration->server));
	/* Timeout for kubelet's stream to be opened again. */
	rdmad_event_arm(registration->timer, LOST_AFTER_MS);
	return TRUE;
}

static void close_and_try(gpointer data)
{
	Registration *registration = data;
	const guint gap_ms =
		MAX(close_gap_ms(registration), kubelet_hold_ms(registration->kubelet));

	/* A stop or a hand-over that began meanwhile waits for the server. */
	if (registration->draining)
		return;
	close_server(registration);
	rdmad_event_disarm(registration->timer);
	if (gap_ms)
		rdmad_event_arm(registration->timer, gap_ms);
	else
		register_now(registration);
}

/* Kubelet stops a new socket with the stream of the old one, if it notices the end of that
 * afterwards. */
static void leave(Registration *registration)
{
	endpoint_check_end(registration->check);
	g_clear_pointer(&registration->call, rdmad_grpc_request_cancel);
	rdmad_event_disarm(registration->timer);
	registration->leaving = TRUE;
	plugin_server_leave(registration->server, close_and_try, registration);
}

static void begin_try(Registration *registration)
{
	if (registration->draining || registration->leaving || !registration->list ||
	    take_over(registration))
		return;
	if (registration->stream_since_us)
		leave(registration);
	else
		close_and_try(registration);
}

/* ---- events ---- */

/*
 * A restarted kubelet finds the socket in plugins_registry again, however long that takes; a new
 * socket would only interfere.  A running kubelet does not return to a socket that it has dropped.
 * Without a kubelet.sock the two cases cannot be distinguished.
 */
static gboolean has_to_try(const Registration *registration)
{
	if (!registration->server || registration->method == REGISTRATION_LEGACY)
		return TRUE;
	return registration->connected &&
	       (!registration->kubelet_socket.inode ||
		kubelet_lives(registration->kubelet, &registration->kubelet_socket));
}

static void timer_fired(gpointer data)
{
	Registration *registration = data;

	if (!registration->stream_since_us && !registration->call && has_to_try(registration))
		begin_try(registration);
}

static void kubelet_connected(Registration *registration)
{
	registration->connected = TRUE;
	kubelet_identify(registration->kubelet, &registration->kubelet_socket);
}

static void streams_changed(gpointer data)
{
	Registration *registration = data;
	const guint streams = plugin_server_streams(registration->server);
	const gint64 now_us = rdmad_now_us();

	if (streams > registration->streams)
		kubelet_connected(registration);
	registration->streams = streams;
	if (streams && !registration->stream_since_us) {
		registration->stream_since_us = now_us;
		rdmad_event_disarm(registration->timer);
		endpoint_check_begin(registration->check);
	} else if (!streams && registration->stream_since_us) {
		if (now_us - registration->stream_since_us > STABLE_US)
			registration->backoff_ms = BACKOFF_FIRST;
		registration->stream_since_us = 0;
		endpoint_check_end(registration->check);
		try_later(registration, LOST_AFTER_MS);
	}
	if (registration->owner_ops->streams_changed)
		registration->owner_ops->streams_changed(registration->owner_data);
}

static gboolean endpoint_offers(gpointer data)
{
	const Registration *registration = data;

	return registration->owner_ops->offers(registration->owner_data);
}

static void endpoint_stopped(const char *why, gpointer data)
{
	Registration *registration = data;
	const RdmadLogFields about = { .resource = registration->resource };

	rdmad_log_full(RDMAD_LOG_NOTICE, &about, "%s: %s; registering again",
		       registration->resource, why);
	registration_restart(registration);
}

static const EndpointCheckOps CHECK_OPS = { endpoint_offers, endpoint_stopped };

static void notified(const char *error, gpointer data)
{
	Registration *registration = data;

	if (error) {
		set_error(registration, error); /* kubelet retries by itself */
	} else {
		accepted(registration);
		kubelet_connected(registration);
		if (!registration->stream_since_us)
			try_later(registration, LOST_AFTER_MS);
	}
	if (registration->owner_ops->notified)
		registration->owner_ops->notified(error, registration->owner_data);
}

static gboolean is_another_kubelet(const Registration *registration)
{
	RdmadSocketFile now;

	return registration->method == REGISTRATION_LEGACY &&
	       kubelet_identify(registration->kubelet, &now) &&
	       !rdmad_socket_file_equal(&now, &registration->kubelet_socket);
}

void registration_kubelet_changed(Registration *registration)
{
	if (!registration->server) {
		/* A scheduled try keeps its time, but a failed one is repeated now: it may have
		 * waited for this change. */
		if (!rdmad_event_armed(registration->timer) || registration->error)
			begin_try(registration);
		return;
	}
	if (!plugin_server_is_reachable(registration->server) || is_another_kubelet(registration)) {
		registration->backoff_ms = BACKOFF_FIRST;
		begin_try(registration);
	}
}

void registration_restart(Registration *registration)
{
	registration->backoff_ms = BACKOFF_FIRST;
	begin_try(registration);
}

void registration_publish(Registration *registration, GBytes *list)
{
	const gboolean first = !registration->list;

	if (!first && g_bytes_equal(registration->list, list))
		return;
	g_bytes_ref(list);
	g_clear_pointer(&registration->list, g_bytes_unref);
	registration->list = list;
	if (!registration->server)
		return;
	plugin_server_publish(registration->server, list);
	endpoint_check_list_changed(registration->check);
}

/* ---- calls from kubelet ---- */

static void serve_allocate(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Registration *registration = data;

	registration->owner_ops->allocate(call, message, size, registration->owner_data);
}

static GBytes *serve_preferred(const guint8 *message, gsize size, gpointer data, GError **error)
{
	Registration *registration = data;

	return registration->owner_ops->preferred(message, size, registration->owner_data, error);
}

static void serve_pre_start(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Registration *registration = data;

	registration->owner_ops->pre_start(call, message, size, registration->owner_data);
}

/* Kubelet calls this right before it opens the stream: a new socket would interfere, so the
 * timeout starts again. */
static void serve_options(PluginOptions *options, gpointer data)
{
	Registration *registration = data;

	if (rdmad_event_armed(registration->timer))
		rdmad_event_arm(registration->timer, LOST_AFTER_MS);
	registration->owner_ops->options(options, registration->owner_data);
}

static const PluginServerOps SERVER_OPS = {
	.allocate = serve_allocate,
	.preferred = serve_preferred,
	.pre_start = serve_pre_start,
	.options = serve_options,
	.streams_changed = streams_changed,
	.notified = notified,
};

/* ---- hand-over ---- */

static void server_still(gpointer data)
{
	Registration *registration = data;

	rdmad_hand_over_part_still(registration->part);
}

/* A running Register prevents the hand-over, because kubelet may have processed it or not. */
static void part_freeze(gpointer data)
{
	Registration *registration = data;

	registration->draining = TRUE;
	endpoint_check_end(registration->check);
	rdmad_event_disarm(registration->timer);
	if (registration->server)
		plugin_server_freeze(registration->server, server_still, registration);
	else
		server_still(registration);
}

static json_t *part_give(int *fds, guint *n_fds, gpointer data)
{
	Registration *registration = data;
	PluginOptions options = { 0 };
	json_t *server;

	if (!registration->server || !registration->stream_since_us || registration->leaving ||
	    registration->call)
		return NULL;
	server = plugin_server_give(registration->server, fds, n_fds);
	if (!server)
		return NULL;
	registration->owner_ops->options(&options, registration->owner_data);
	return json_pack("{s:o, s:i, s:b, s:b}", "server", server, "registration_method",
			 (int)registration->method, "preferred", options.preferred, "pre_start",
			 options.pre_start);
}

static const RdmadHandOverOps PART_OPS = { part_freeze, part_give };

void registration_close_removed(RdmadModule *self, Kubelet *kubelet, const GPtrArray *resources)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < resources->len; i++)
		g_ptr_array_add(names, part_name(((ResourceSettings *)resources->pdata[i])->name));
	g_ptr_array_add(names, NULL);
	rdmad_hand_over_close_others(rdmad_module_hand_over(self), PART_PREFIX,
				     (const char *const *)names->pdata);
	kubelet_remove_stale_sockets(kubelet);
}

/* ---- life cycle ---- */

Registration *registration_new(RdmadModule *self, Kubelet *kubelet, const char *resource,
			       const PluginServerOps *ops, gpointer data)
{
	Registration *registration = g_new0(Registration, 1);
	g_autofree char *name = part_name(resource);

	registration->self = self;
	registration->kubelet = kubelet;
	registration->resource = g_strdup(resource);
	registration->owner_ops = ops;
	registration->owner_data = data;
	registration->backoff_ms = BACKOFF_FIRST;
	registration->check = endpoint_check_new(self, kubelet, resource, &CHECK_OPS, registration);
	registration->timer =
		rdmad_loop_add_timer(rdmad_module_loop(self), self, timer_fired, registration);
	registration->part = rdmad_hand_over_add(rdmad_module_hand_over(self), self, name,
						 &PART_OPS, registration);
	return registration;
}

void registration_free(Registration *registration)
{
	rdmad_hand_over_part_free(registration->part);
	close_server(registration);
	endpoint_check_free(registration->check);
	rdmad_event_free(registration->timer);
	g_clear_pointer(&registration->list, g_bytes_unref);
	g_free(registration->error);
	g_free(registration->resource);
	g_free(registration);
}

void registration_drain(Registration *registration, void (*drained)(gpointer data), gpointer data)
{
	registration->draining = TRUE;
	endpoint_check_end(registration->check);
	rdmad_event_disarm(registration->timer);
	if (registration->server)
		plugin_server_drain(registration->server, drained, data);
	else
		drained(data);
}

void registration_info(const Registration *registration, RegistrationInfo *info)
{
	info->registered = registration->stream_since_us && !registration->leaving;
	info->method = registration->method;
	info->streams = registration->server ? plugin_server_streams(registration->server) : 0;
	info->error = registration->error;
}
