/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of the executor's protocol, in one file so that they stay consistent
 *
 *	{ "id": 7, "what": 0 } [ steps .. ]	with the descriptor of a namespace, if any
 *	{ "id": 7, "what": 0, "in_memory": true }	and behind it one of a file with the steps
 *	{ "id": 7, "open": [ "net/ipv4/conf/all/rp_filter" ] }	with the same
 *	{ "id": 7, "path": "/proc/4711/ns/net" }
 *	{ "id": 7, "cancel": true }
 *	{ "id": 7, "reports": [ { "step", "us", "result", "error" } ], "error": "..", "code": 2,
 *	  "left": ".." }
 *	{ "id": 7, "opened": [ true, false ] }	with the descriptors
 *
 * The daemon trusts the executor; the executor checks the steps.  Each of its threads receives a
 * request, executes it, and receives the next one; one thread always waits for a request.
 */
#include <rdmad/executor.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/message-socket.h>
#include <rdmad/netns.h>
#include <rdmad/step.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "hardware/sysroot.h"
#include "network/keeper.h"
#include "network/network-private.h"
#include "network/perform.h"

#define DEPTH	   8u
#define STACK_SIZE (256u * 1024)
#define INLINE_MAX (RDMAD_MESSAGE_SIZE_MAX / 2) /* bytes; longer steps are passed in a file */
#define TRIM_AFTER 32u /* tasks between calls of malloc_trim(), which takes as long as a task */
#define IDLE_MAX   4u  /* threads that stay while no request is executed */

static const RdmadMessageLimits request_limits = { .fds_max = 2 };
static const RdmadMessageLimits answer_limits = { .fds_max = RDMAD_MESSAGE_FDS_MAX,
						  .unanswered_max = G_MAXUINT };

/* ---- the executor's side ---- */

typedef struct {
	int socket, host_fd;
	RdmadSysroot *root;
	pthread_mutex_t turn; /* held while receiving a request */
	pthread_mutex_t lock;
	/* Protected by `lock`: */
	GHashTable *tasks; /* id -> Task */
	guint idle;	   /* threads that wait for `turn` */
	guint ended;	   /* tasks since the last malloc_trim() */
} Server;

typedef struct {
	Server *server;
	gint64 id;
	RdmadExecute what;
	char *text; /* the steps */
	PerformPlan *plan;
	json_t *files; /* names of files to open, or NULL */
	char *path;    /* of a namespace to open, or NULL */
	int opened[RDMAD_MESSAGE_FDS_MAX];
	guint n_opened;
	int netns;     /* -1: the namespace has ended, or is not needed */
	int cancelled; /* atomic */
	GError *error;
} Task;

static void task_free(gpointer data)
{
	Task *task = data;

	perform_plan_free(task->plan);
	for (guint i = 0; i < task->n_opened; i++)
		rdmad_clear_fd(&task->opened[i]);
	rdmad_clear_fd(&task->netns);
	json_decref(task->files);
	g_clear_error(&task->error);
	g_free(task->path);
	g_free(task->text);
	g_free(task);
}

static gboolean steps_perform(Task *task, RdmadNetwork *host, RdmadNetwork *pod, GError **error)
{
	PerformLink last = { 0 };
	const PerformContext ctx = { .host = host,
				     .pod = pod,
				     .host_fd = task->server->host_fd,
				     .pod_fd = task->netns,
				     .root = task->server->root,
				     .last = &last,
				     .cancelled = &task->cancelled };

	task->plan = perform_plan_new(task->what, task->text, error);
	if (!task->plan)
		return FALSE;
	while (perform_plan_next(task->plan, &ctx))
		;
	return TRUE;
}

static int file_open(const char *name, GError **error)
{
	int fd;

	if (g_strcmp0(name, RDMAD_EXECUTOR_SOCK_DIAG) != 0)
		return network_open_sysctl(name, error);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		rdmad_error_errno(error, errno, "cannot open a socket");
	return fd;
}

/* Omits missing files. */
static gboolean files_open(Task *task, RdmadNetwork *pod, GError **error)
{
	const json_t *name;
	gsize i;

	task->opened[task->n_opened++] = fcntl(network_socket(pod), F_DUPFD_CLOEXEC, 0);
	json_array_foreach(task->files, i, name)
	{
		GError *why = NULL;
		const int fd = file_open(json_string_value(name), &why);

		task->opened[task->n_opened++] = fd;
		if (fd < 0 && !perform_forgive(&why, RDMAD_ERROR_NOT_FOUND)) {
			g_propagate_error(error, why);
			return FALSE;
		}
	}
	return task->opened[0] >= 0 || rdmad_error_errno(error, errno, "cannot keep a socket");
}

/* Runs in the pod's namespace, if it has one. */
static gboolean task_perform(Task *task, RdmadNetwork *host, GError **error)
{
	g_autoptr(RdmadNetwork) pod = task->netns >= 0 ? rdmad_network_open(0, error) : NULL;

	if (task->netns >= 0 && !pod)
		return FALSE;
	if (!task->files)
		return steps_perform(task, host, pod, error);
	if (pod)
		return files_open(task, pod, error);
	g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "there is no namespace");
	return FALSE;
}

static gboolean netns_open(Task *task, GError **error)
{
	task->opened[0] = rdmad_netns_open(task->path, NULL, error);
	task->n_opened = 1;
	return task->opened[0] >= 0;
}

static gboolean task_enter(Task *task, RdmadNetwork *host, GError **error)
{
	gboolean ok;

	if (task->path)
		return netns_open(task, error);
	if (task->netns < 0)
		return task_perform(task, host, error);
	if (setns(task->netns, CLONE_NEWNET) < 0)
		return rdmad_error_errno(error, errno, "cannot enter the network namespace");
	ok = task_perform(task, host, error);
	/* Exits if the thread cannot leave the pod's namespace, which it would take for the host's.
	 * Its steps are in the journal. */
	if (setns(task->server->host_fd, CLONE_NEWNET) < 0)
		_exit(EXIT_FAILURE);
	return ok;
}

static json_t *opened_json(const Task *task, int fds[RDMAD_MESSAGE_FDS_MAX], guint *n_fds)
{
	json_t *opened = task->n_opened && !task->error ? json_array() : NULL;

	for (guint i = 0; opened && i < task->n_opened; i++) {
		json_array_append_new(opened, json_boolean(task->opened[i] >= 0));
		if (task->opened[i] >= 0)
			fds[(*n_fds)++] = task->opened[i];
	}
	return opened;
}

static void task_answer(const Task *task)
{
	g_autoptr(GError) error = NULL;
	int fds[RDMAD_MESSAGE_FDS_MAX];
	guint n_fds = 0;
	json_t *opened = opened_json(task, fds, &n_fds);
	json_t *answer =
		json_pack("{s:I, s:o?, s:o?, s:i}", "id", (json_int_t)task->id, "opened", opened,
			  "error", task->error ? rdmad_json_string(task->error->message) : NULL,
			  "code", task->error ? task->error->code : 0);
	char *text;

	if (task->plan)
		perform_plan_report(task->plan, answer);
	text = json_dumps(answer, JSON_COMPACT);
	/* A daemon that has ended reads the journal after its restart. */
	if (!rdmad_message_send(task->server->socket, text, strlen(text), fds, n_fds, &error) &&
	    !g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_GONE))
		_exit(EXIT_FAILURE);
	free(text);
	json_decref(answer);
}

static void task_end(Task *task)
{
	Server *server = task->server;
	gboolean trims;

	pthread_mutex_lock(&server->lock);
	g_hash_table_remove(server->tasks, &task->id);
	trims = ++server->ended >= TRIM_AFTER && g_hash_table_size(server->tasks) == 0;
	if (trims)
		server->ended = 0;
	pthread_mutex_unlock(&server->lock);
	if (trims)
		malloc_trim(0);
}

static void task_run(Task *task)
{
	const gboolean opens = task->files || task->path;
	g_autoptr(GError) why = NULL;
	g_autoptr(RdmadNetwork) host =
		opens ? NULL : network_open_here(task->server->host_fd, &why);

	if (((!host && !opens) || !task_enter(task, host, &why)) && !task->error)
		task->error = g_steal_pointer(&why);
	task_answer(task);
	task_end(task);
}

/* Reads a memory file, which was complete before it was sent. */
static char *file_read(int fd)
{
	g_autofree char *text = g_malloc(RDMAD_STEP_JSON_MAX + 1);
	const gssize n = pread(fd, text, RDMAD_STEP_JSON_MAX, 0);

	text[MAX(n, 0)] = '\0';
	return g_strdup(text);
}

/* Returns NULL after a request that needs no work. */
static Task *request_take(Server *server, const json_t *json, RdmadMessage *message, gsize head)
{
	const json_int_t id = json_integer_value(json_object_get(json, "id"));
	const guint files = json_is_true(json_object_get(json, "in_memory"));
	Task *task = g_hash_table_lookup(server->tasks, &id);

	if (task || json_is_true(json_object_get(json, "cancel"))) {
		if (task)
			g_atomic_int_set(&task->cancelled, 1);
		return NULL;
	}
	task = g_new0(Task, 1);
	task->server = server;
	task->id = id;
	task->what = (RdmadExecute)json_integer_value(json_object_get(json, "what"));
	task->files = json_incref(json_object_get(json, "open"));
	task->path = g_strdup(json_string_value(json_object_get(json, "path")));
	task->text = files && message->n_fds
			     ? file_read(message->fds[message->n_fds - 1])
			     : g_strndup((const char *)message->bytes + head, message->size - head);
	task->netns = message->n_fds > files ? rdmad_steal_fd(&message->fds[0]) : -1;
	g_hash_table_insert(server->tasks, &task->id, task);
	return task;
}

/* Returns NULL if there is nothing to do. */
static Task *message_take(Server *server, RdmadMessage *message)
{
	const char *end = memchr(message->bytes, '\n', message->size);
	const gsize head = end ? (gsize)(end - (const char *)message->bytes) : message->size;
	json_t *json = rdmad_json_parse((const char *)message->bytes, head, DEPTH, NULL);
	Task *task;

	if (!json || json_array_size(json_object_get(json, "open")) >= RDMAD_MESSAGE_FDS_MAX)
		_exit(EXIT_FAILURE);
	pthread_mutex_lock(&server->lock);
	task = request_take(server, json, message, head + (end != NULL));
	pthread_mutex_unlock(&server->lock);
	json_decref(json);
	return task;
}

/* Exits when the daemon has ended. */
static Task *task_take(Server *server)
{
	g_autoptr(GError) error = NULL;
	Task *task = NULL;

	pthread_mutex_lock(&server->turn);
	while (!task) {
		g_autoptr(RdmadMessage) message =
			rdmad_message_receive(server->socket, &request_limits, &error);

		/* Other threads may still execute steps, which are in the journal. */
		if (!message)
			_exit(g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_GONE) ? EXIT_SUCCESS
										    : EXIT_FAILURE);
		task = message_take(server, message);
	}
	pthread_mutex_unlock(&server->turn);
	return task;
}

static void *serve_thread(void *data);

static int thread_start(Server *server)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, serve_thread, server);
	pthread_attr_destroy(&attr);
	return r;
}

/* Counts this thread as waiting.  Returns FALSE if enough threads wait. */
static gboolean idle_begin(Server *server)
{
	gboolean stays;

	pthread_mutex_lock(&server->lock);
	stays = server->idle < IDLE_MAX;
	server->idle += stays;
	pthread_mutex_unlock(&server->lock);
	return stays;
}

/* Starts another thread if none waits.  If that fails, the next request waits for the end of this
 * one. */
static void idle_end(Server *server)
{
	pthread_mutex_lock(&server->lock);
	server->idle--;
	if (server->idle == 0 && thread_start(server) == 0)
		server->idle++;
	pthread_mutex_unlock(&server->lock);
}

static void serve(Server *server)
{
	do {
		Task *task = task_take(server);

		idle_end(server);
		task_run(task);
	} while (idle_begin(server));
}

/* The starting thread has counted this one as waiting. */
static void *serve_thread(void *data)
{
	serve(data);
	return NULL;
}

int rdmad_executor_serve(int socket, const char *lock)
{
	static Server server = { .turn = PTHREAD_MUTEX_INITIALIZER,
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .idle = 1 };
	g_autoptr(GError) error = NULL;

	server.socket = socket;
	server.tasks = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, task_free);
	server.host_fd = rdmad_netns_open_own(NULL, &error);
	server.root = rdmad_sysroot_new(NULL, &error);
	if (server.host_fd < 0 || !server.root || !rdmad_keeper_take_turn(lock, &error)) {
		fprintf(stderr, "rdmad: executor: %s\n", error->message);
		return EXIT_FAILURE;
	}
	for (;;) {
		serve(&server);
		/* The process ends with its first thread, so that one stays. */
		pthread_mutex_lock(&server.lock);
		server.idle++;
		pthread_mutex_unlock(&server.lock);
	}
}

/* ---- the daemon's side ---- */

struct RdmadExecutor {
	RdmadLoop *loop;
	RdmadModule *owner;
	RdmadKeeper *keeper;
	char *lock;
	RdmadMessagePeer *peer; /* NULL: the executor does not run */
	guint64 last;
	GHashTable *requests; /* number -> Request */
};

typedef struct {
	guint64 number;
	RdmadExecutorDone done;	    /* of steps, or */
	RdmadExecutorOpened opened; /* of files */
	gpointer data;
} Request;

static void request_end(Request *request, const RdmadExecutorReport *report, int *fds, guint n_fds,
			const GError *error)
{
	if (request->done)
		request->done(report, error, request->data);
	else
		request->opened(fds, n_fds, error, request->data);
	g_free(request);
}

static Request *request_steal(RdmadExecutor *executor, guint64 number)
{
	Request *request = g_hash_table_lookup(executor->requests, &number);

	if (request)
		g_hash_table_steal(executor->requests, &number);
	return request;
}

static GArray *reports_read(const json_t *list)
{
	GArray *reports = g_array_new(FALSE, TRUE, sizeof(RdmadStepReport));
	const json_t *entry;
	gsize i;

	json_array_foreach(list, i, entry)
	{
		const RdmadStepReport report = {
			json_string_value(json_object_get(entry, "step")),
			(double)json_integer_value(json_object_get(entry, "us")) / G_USEC_PER_SEC,
			(int)json_integer_value(json_object_get(entry, "result")),
			json_string_value(json_object_get(entry, "error")),
		};

		g_array_append_val(reports, report);
	}
	return reports;
}

/* Returns the descriptors in the order of the request. */
static guint fds_read(const json_t *opened, RdmadMessage *message, int fds[RDMAD_MESSAGE_FDS_MAX])
{
	const json_t *is_there;
	guint n = 0, next = 0;
	gsize i;

	json_array_foreach(opened, i, is_there)
	{
		if (n == RDMAD_MESSAGE_FDS_MAX)
			break;
		fds[n++] = json_is_true(is_there) && next < message->n_fds
				   ? rdmad_steal_fd(&message->fds[next++])
				   : -1;
	}
	return n;
}

static void answer_take(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	json_t *json = rdmad_json_parse((const char *)message->bytes, message->size, DEPTH, NULL);
	const char *problem = json_string_value(json_object_get(json, "error"));
	g_autoptr(GArray) reports = reports_read(json_object_get(json, "reports"));
	const RdmadExecutorReport report = { (const RdmadStepReport *)(gpointer)reports->data,
					     reports->len,
					     json_string_value(json_object_get(json, "left")) };
	Request *request =
		request_steal(data, (guint64)json_integer_value(json_object_get(json, "id")));
	int fds[RDMAD_MESSAGE_FDS_MAX];
	const guint n_fds = fds_read(json_object_get(json, "opened"), message, fds);
	g_autoptr(GError) error = NULL;

	if (problem)
		error = g_error_new_literal(RDMAD_ERROR,
					    (int)json_integer_value(json_object_get(json, "code")),
					    problem);
	if (request)
		request_end(request, &report, fds, n_fds, error);
	for (guint i = 0; i < n_fds; i++)
		rdmad_clear_fd(&fds[i]);
	json_decref(json);
}

/* Fails all requests; the next one starts another executor. */
static void answer_gone(RdmadMessagePeer *peer, gpointer data)
{
	RdmadExecutor *executor = data;
	g_autoptr(GError) error = g_error_new_literal(RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
						      "the executor of network steps ended");
	g_autoptr(GHashTable) requests = g_steal_pointer(&executor->requests);
	g_autoptr(GList) all = g_hash_table_get_values(requests);

	rdmad_warn("%s", error->message);
	executor->peer = NULL;
	executor->requests = g_hash_table_new(g_int64_hash, g_int64_equal);
	for (const GList *l = all; l; l = l->next)
		request_end(l->data, NULL, NULL, 0, error);
}

static const RdmadMessageOps executor_ops = { answer_take, answer_gone };

static gboolean executor_start(RdmadExecutor *executor, GError **error)
{
	rdmad_autofd int ours = -1, theirs = -1;

	if (executor->peer)
		return TRUE;
	if (!rdmad_message_pair(&ours, &theirs, error) ||
	    !rdmad_keeper_start(executor->keeper, theirs, executor->lock, error))
		return FALSE;
	executor->peer =
		rdmad_message_peer_new(executor->loop, executor->owner, rdmad_steal_fd(&ours),
				       &answer_limits, &executor_ops, executor, error);
	return executor->peer != NULL;
}

RdmadExecutor *rdmad_executor_new(RdmadLoop *loop, RdmadModule *owner, RdmadKeeper *keeper,
				  const char *lock)
{
	RdmadExecutor *executor = g_new0(RdmadExecutor, 1);

	executor->loop = loop;
	executor->owner = owner;
	executor->keeper = keeper;
	executor->lock = g_strdup(lock);
	executor->requests = g_hash_table_new(g_int64_hash, g_int64_equal);
	return executor;
}

void rdmad_executor_free(RdmadExecutor *executor)
{
	if (!executor)
		return;
	/* The executor ends by itself when the socket is closed. */
	rdmad_message_peer_close(executor->peer);
	g_list_free_full(g_hash_table_get_values(executor->requests), g_free);
	g_hash_table_unref(executor->requests);
	g_free(executor->lock);
	g_free(executor);
}

/* `file` follows the namespace's descriptor; -1: none. */
static guint64 request_send(RdmadExecutor *executor, const char *text, int netns, int file,
			    const Request *made, GError **error)
{
	int fds[2];
	guint n_fds = 0;
	Request *request;

	if (netns >= 0)
		fds[n_fds++] = netns;
	if (file >= 0)
		fds[n_fds++] = file;
	if (!executor_start(executor, error) ||
	    !rdmad_message_peer_send(executor->peer, text, strlen(text), fds, n_fds, error))
		return 0;
	request = g_memdup2(made, sizeof(*made));
	request->number = executor->last = executor->last + 1;
	g_hash_table_insert(executor->requests, &request->number, request);
	return request->number;
}

static int steps_to_file(const char *steps, GError **error)
{
	const gssize size = (gssize)strlen(steps);
	rdmad_autofd int file = -1;

	if (size > RDMAD_STEP_JSON_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT, "a plan of more than %u bytes",
			    RDMAD_STEP_JSON_MAX);
		return -1;
	}
	file = memfd_create("rdmad-steps", MFD_CLOEXEC);
	if (file < 0 || pwrite(file, steps, (gsize)size, 0) != size) {
		rdmad_error_errno(error, errno, "cannot hand over the steps");
		return -1;
	}
	return rdmad_steal_fd(&file);
}

guint64 rdmad_executor_run(RdmadExecutor *executor, RdmadExecute what, const char *steps, int netns,
			   RdmadExecutorDone done, gpointer data, GError **error)
{
	const Request request = { .done = done, .data = data };
	const gboolean inlined = strlen(steps) <= INLINE_MAX;
	rdmad_autofd int file = inlined ? -1 : steps_to_file(steps, error);
	g_autofree char *text = g_strdup_printf(
		"{\"id\":%" G_GUINT64_FORMAT ",\"what\":%d%s}\n%s", executor->last + 1, (int)what,
		inlined ? "" : ",\"in_memory\":true", inlined ? steps : "");

	if (!inlined && file < 0)
		return 0;
	return request_send(executor, text, netns, file, &request, error);
}

guint64 rdmad_executor_open(RdmadExecutor *executor, const char *const *sysctls, int netns,
			    RdmadExecutorOpened opened, gpointer data, GError **error)
{
	g_autofree char *names = g_strjoinv("\",\"", (char **)sysctls);
	g_autofree char *text =
		g_strdup_printf("{\"id\":%" G_GUINT64_FORMAT ",\"open\":[%s%s%s]}",
				executor->last + 1, *names ? "\"" : "", names, *names ? "\"" : "");
	const Request request = { .opened = opened, .data = data };

	return request_send(executor, text, netns, -1, &request, error);
}

guint64 rdmad_executor_open_netns(RdmadExecutor *executor, const char *path,
				  RdmadExecutorOpened opened, gpointer data, GError **error)
{
	json_t *json = json_pack("{s:I, s:s}", "id", (json_int_t)executor->last + 1, "path", path);
	char *text = json_dumps(json, JSON_COMPACT);
	const Request request = { .opened = opened, .data = data };
	const guint64 number = request_send(executor, text, -1, -1, &request, error);

	free(text);
	json_decref(json);
	return number;
}

void rdmad_executor_forget(RdmadExecutor *executor, guint64 number)
{
	g_free(request_steal(executor, number));
}

void rdmad_executor_cancel(RdmadExecutor *executor, guint64 number)
{
	g_autofree char *text =
		g_strdup_printf("{\"id\":%" G_GUINT64_FORMAT ",\"cancel\":true}", number);

	if (executor->peer && g_hash_table_contains(executor->requests, &number))
		rdmad_message_peer_send(executor->peer, text, strlen(text), NULL, 0, NULL);
}
