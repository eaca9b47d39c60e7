/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the conversation with the executor, so that they cannot drift
 *
 *	{ "id": 7, "what": 0, "steps": [ .. ] }		with the descriptor of the namespace, if any
 *	{ "id": 7, "what": 0, "in_memory": true }	and behind it one of a file with the steps
 *	{ "id": 7, "cancel": true }
 *	{ "id": 7, "reports": [ { "step", "us", "result", "error" } ], "error": "..", "code": 2, "left": ".." }
 *
 * The daemon's end trusts the executor as it trusts itself; the executor checks the steps.
 */
#include <rdmad/executor.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/message-socket.h>
#include <rdmad/netns.h>
#include <rdmad/step.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "hardware/sysroot.h"
#include "network/perform.h"

#define PROGRAM	   "/proc/self/exe"
#define SOCKET_FD  3
#define DEPTH	   8u
#define STACK_SIZE (256u * 1024)
#define INLINE_MAX (RDMAD_MESSAGE_SIZE_MAX / 2) /* longer steps are in a file */

static const RdmadMessageLimits request_limits = { .fds_max = 2 };
static const RdmadMessageLimits answer_limits = { .unanswered_max = G_MAXUINT };

/* ---- the executor's end ---- */

typedef struct {
	int socket, host_fd;
	RdmadSysroot *root;
	pthread_mutex_t lock;
	GHashTable *tasks; /* of Task, by its id, under the lock */
} Server;

typedef struct {
	Server *server;
	gint64 id;
	RdmadExecute what;
	GPtrArray *steps;
	int netns;     /* -1: gone */
	int cancelled; /* atomic */
	json_t *reports;
	GError *error;
	char *left;
} Task;

static void task_free(gpointer data)
{
	Task *task = data;

	if (task->steps)
		g_ptr_array_unref(task->steps);
	rdmad_clear_fd(&task->netns);
	json_decref(task->reports);
	g_clear_error(&task->error);
	g_free(task->left);
	g_free(task);
}

static void report_add(Task *task, const RdmadStep *step, gint64 began_us, int result,
		       const GError *error)
{
	json_array_append_new(task->reports,
			      json_pack("{s:s, s:I, s:i, s:s?}", "step",
					rdmad_step_name(step->kind), "us",
					(json_int_t)(g_get_monotonic_time() - began_us), "result",
					result, "error", error ? error->message : NULL));
}

/* From `n` - 1 down: the first error is kept, and nothing stops it. */
static void undo_first(Task *task, const PerformContext *ctx, guint n, gboolean with_report,
		       GError **error)
{
	static const int never = 0;
	PerformContext patient = *ctx;

	patient.cancelled = &never;
	while (n-- > 0) {
		const RdmadStep *step = task->steps->pdata[n];
		const gint64 began_us = g_get_monotonic_time();
		g_autoptr(GError) why = NULL;

		perform_undo(&patient, step, &why);
		if (with_report)
			report_add(task, step, began_us, -1, why);
		if (why && !*error)
			*error = g_steal_pointer(&why);
	}
}

static void do_all(Task *task, const PerformContext *ctx)
{
	guint i;

	for (i = 0; i < task->steps->len && !task->error; i++) {
		const RdmadStep *step = task->steps->pdata[i];
		const gint64 began_us = g_get_monotonic_time();
		int result = -1;

		if (g_atomic_int_get(&task->cancelled))
			g_set_error_literal(&task->error, RDMAD_ERROR, RDMAD_ERROR_CANCELLED,
					    "nobody waits for it any more");
		else
			perform_do(ctx, step, &result, &task->error);
		report_add(task, step, began_us, result, task->error);
	}
	if (task->error && task->what == RDMAD_EXECUTE_DO) {
		g_autoptr(GError) why = NULL;

		/* The failed one may have been done in part. */
		undo_first(task, ctx, i, FALSE, &why);
		task->left = why ? g_strdup(why->message) : NULL;
	}
}

static gboolean task_perform(gpointer data, GError **error)
{
	Task *task = data;
	g_autoptr(RdmadNetwork) host = rdmad_network_open(task->server->host_fd, error);
	g_autoptr(RdmadNetwork) pod =
		host && task->netns >= 0 ? rdmad_network_open(0, error) : NULL;
	const PerformContext ctx = { .host = host,
				     .pod = pod,
				     .host_fd = task->server->host_fd,
				     .pod_fd = task->netns,
				     .root = task->server->root,
				     .cancelled = &task->cancelled };

	if (!host || (task->netns >= 0 && !pod))
		return FALSE;
	if (task->what == RDMAD_EXECUTE_UNDO)
		undo_first(task, &ctx, task->steps->len, TRUE, &task->error);
	else
		do_all(task, &ctx);
	return TRUE;
}

static void task_answer(const Task *task)
{
	g_autoptr(GError) error = NULL;
	json_t *answer =
		json_pack("{s:I, s:O, s:s?, s:i, s:s?}", "id", (json_int_t)task->id, "reports",
			  task->reports, "error", task->error ? task->error->message : NULL, "code",
			  task->error ? task->error->code : 0, "left", task->left);
	char *text = json_dumps(answer, JSON_COMPACT);

	/* A daemon that is gone looks at the journal when it is back. */
	rdmad_message_send(task->server->socket, text, strlen(text), NULL, 0, &error);
	free(text);
	json_decref(answer);
}

static void *task_thread(void *data)
{
	Task *task = data;
	Server *server = task->server;
	GError *why = NULL;
	const gboolean ok = task->netns >= 0
				    ? rdmad_netns_call(task->netns, task_perform, task, &why)
				    : task_perform(task, &why);

	if (!ok && !task->error)
		task->error = g_steal_pointer(&why);
	g_clear_error(&why);
	task_answer(task);
	pthread_mutex_lock(&server->lock);
	g_hash_table_remove(server->tasks, &task->id);
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

static void task_start(Task *task)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, task_thread, task);
	pthread_attr_destroy(&attr);
	if (!r)
		return;
	rdmad_error_errno(&task->error, r, "cannot start a thread");
	task_answer(task);
	g_hash_table_remove(task->server->tasks, &task->id);
}

/* A memory file, written whole before it was sent. */
static char *file_read(int fd)
{
	g_autofree char *text = g_malloc(RDMAD_STEP_JSON_MAX + 1);
	const gssize n = pread(fd, text, RDMAD_STEP_JSON_MAX, 0);

	text[MAX(n, 0)] = '\0';
	return g_strdup(text);
}

static GPtrArray *steps_take(const json_t *json, RdmadMessage *message, GError **error)
{
	g_autofree char *file = NULL;
	char *text = NULL;
	GPtrArray *steps;

	if (json_is_true(json_object_get(json, "in_memory")) && message->n_fds)
		file = file_read(message->fds[message->n_fds - 1]);
	else
		text = json_dumps(json_object_get(json, "steps"), JSON_COMPACT | JSON_ENCODE_ANY);
	steps = rdmad_steps_from_text(file ?: text ?: "", strlen(file ?: text ?: ""), error);
	free(text);
	return steps;
}

/* With the lock held. */
static void request_take(Server *server, const json_t *json, RdmadMessage *message)
{
	const json_int_t id = json_integer_value(json_object_get(json, "id"));
	const guint files = json_is_true(json_object_get(json, "in_memory"));
	Task *task = g_hash_table_lookup(server->tasks, &id);

	if (task || json_is_true(json_object_get(json, "cancel"))) {
		if (task)
			g_atomic_int_set(&task->cancelled, 1);
		return;
	}
	task = g_new0(Task, 1);
	task->server = server;
	task->id = id;
	task->what = (RdmadExecute)json_integer_value(json_object_get(json, "what"));
	task->netns = message->n_fds > files ? rdmad_steal_fd(&message->fds[0]) : -1;
	task->reports = json_array();
	g_hash_table_insert(server->tasks, &task->id, task);
	task->steps = steps_take(json, message, &task->error);
	if (task->steps) {
		task_start(task);
		return;
	}
	task_answer(task);
	g_hash_table_remove(server->tasks, &task->id);
}

static int serve(Server *server, GError **error)
{
	RdmadMessage *message;

	while ((message = rdmad_message_receive(server->socket, &request_limits, error))) {
		json_t *json =
			rdmad_json_parse((const char *)message->bytes, message->size, DEPTH, error);

		if (!json) {
			rdmad_message_free(message);
			return 1;
		}
		pthread_mutex_lock(&server->lock);
		request_take(server, json, message);
		pthread_mutex_unlock(&server->lock);
		json_decref(json);
		rdmad_message_free(message);
	}
	return g_error_matches(*error, RDMAD_ERROR, RDMAD_ERROR_GONE) ? 0 : 1;
}

/* Whoever had it is at work until the kernel has ended its last thread. */
static gboolean lock_wait(const char *path, GError **error)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", path);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return rdmad_error_errno(error, errno, "cannot lock %s", path);
	return TRUE;
}

int rdmad_executor_main(int argc, char **argv)
{
	Server server = { .lock = PTHREAD_MUTEX_INITIALIZER };
	g_autoptr(GError) error = NULL;
	int status = 1;

	if (argc != 4)
		return 2;
	server.socket = atoi(argv[2]);
	server.tasks = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, task_free);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "rdmad-executor");
	server.host_fd = rdmad_netns_open_own(NULL, &error);
	server.root = rdmad_sysroot_new(NULL, &error);
	if (server.host_fd >= 0 && server.root && lock_wait(argv[3], &error))
		status = serve(&server, &error);
	if (status)
		fprintf(stderr, "rdmad: executor: %s\n", error ? error->message : "no reason");
	/* Threads may be at work: what they do is journalled. */
	_exit(status);
}

/* ---- the daemon's end ---- */

struct RdmadExecutor {
	RdmadLoop *loop;
	RdmadModule *owner;
	char *lock;
	pid_t pid; /* 0: it does not run */
	RdmadEvent *child;
	RdmadMessagePeer *peer;
	guint64 last;
	GHashTable *requests; /* of Request, by number */
};

typedef struct {
	guint64 number;
	RdmadExecutorDone done;
	gpointer data;
} Request;

static void request_end(RdmadExecutor *executor, guint64 number, const RdmadExecutorReport *report,
			const GError *error)
{
	Request *request = g_hash_table_lookup(executor->requests, &number);

	if (!request)
		return;
	g_hash_table_steal(executor->requests, &number);
	request->done(report, error, request->data);
	g_free(request);
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

static void answer_take(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	json_t *json = rdmad_json_parse((const char *)message->bytes, message->size, DEPTH, NULL);
	const char *problem = json_string_value(json_object_get(json, "error"));
	g_autoptr(GArray) reports = reports_read(json_object_get(json, "reports"));
	const RdmadExecutorReport report = { (const RdmadStepReport *)(gpointer)reports->data,
					     reports->len,
					     json_string_value(json_object_get(json, "left")) };
	g_autoptr(GError) error = NULL;

	if (problem)
		error = g_error_new_literal(RDMAD_ERROR,
					    (int)json_integer_value(json_object_get(json, "code")),
					    problem);
	request_end(data, (guint64)json_integer_value(json_object_get(json, "id")), &report, error);
	json_decref(json);
}

/* Each hears of it, and may ask again, which starts another one. */
static void executor_lost(RdmadExecutor *executor)
{
	g_autoptr(GError) error = g_error_new_literal(RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
						      "the executor of network steps ended");
	g_autoptr(GHashTable) requests = g_steal_pointer(&executor->requests);
	g_autoptr(GList) numbers = g_hash_table_get_values(requests);

	executor->requests = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_clear_pointer(&executor->peer, rdmad_message_peer_close);
	for (const GList *l = numbers; l; l = l->next) {
		Request *request = l->data;

		request->done(NULL, error, request->data);
		g_free(request);
	}
}

/* A process that does not listen any more is not the one that is asked next. */
static void executor_end(RdmadExecutor *executor)
{
	g_clear_pointer(&executor->child, rdmad_event_free);
	if (!executor->pid)
		return;
	kill(executor->pid, SIGKILL);
	while (waitpid(executor->pid, NULL, 0) < 0 && errno == EINTR)
		;
	executor->pid = 0;
}

static void answer_gone(RdmadMessagePeer *peer, gpointer data)
{
	RdmadExecutor *executor = data;

	rdmad_warn("the executor of network steps ended");
	executor->peer = NULL;
	executor_end(executor);
	executor_lost(executor);
}

static const RdmadMessageOps executor_ops = { answer_take, answer_gone };

static void executor_ended(pid_t pid, int status, gpointer data)
{
	RdmadExecutor *executor = data;

	rdmad_warn("the executor of network steps ended (%s %d)",
		   WIFSIGNALED(status) ? "signal" : "status",
		   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	/* It has freed itself. */
	executor->child = NULL;
	executor->pid = 0;
	executor_lost(executor);
}

/* Between fork and exec: only what is safe after a fork of a process with threads. */
G_NORETURN static void child_exec(int socket, char *const *argv, char *const *envp)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (socket == SOCKET_FD ? fcntl(socket, F_SETFD, 0) == 0
				: dup2(socket, SOCKET_FD) == SOCKET_FD)
		execve(PROGRAM, argv, envp);
	_exit(127);
}

static gboolean executor_spawn(RdmadExecutor *executor, int socket, GError **error)
{
	char *const argv[] = { (char *)"rdmad", (char *)RDMAD_EXECUTOR_OPTION,
			       (char *)G_STRINGIFY(SOCKET_FD), executor->lock, NULL };
	char *const envp[] = { NULL };

	executor->pid = fork();
	if (executor->pid == 0)
		child_exec(socket, argv, envp);
	if (executor->pid < 0) {
		executor->pid = 0;
		return rdmad_error_errno(error, errno, "cannot start the executor");
	}
	executor->child = rdmad_loop_add_child(executor->loop, executor->owner, executor->pid,
					       executor_ended, executor, error);
	return executor->child != NULL;
}

static gboolean executor_start(RdmadExecutor *executor, GError **error)
{
	rdmad_autofd int ours = -1, theirs = -1;
	int pair[2];

	if (executor->peer)
		return TRUE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rdmad_error_errno(error, errno, "cannot start the executor");
	ours = pair[0];
	theirs = pair[1];
	if (!executor->pid && !executor_spawn(executor, theirs, error))
		return FALSE;
	executor->peer =
		rdmad_message_peer_new(executor->loop, executor->owner, rdmad_steal_fd(&ours),
				       &answer_limits, &executor_ops, executor, error);
	return executor->peer != NULL;
}

RdmadExecutor *rdmad_executor_new(RdmadLoop *loop, RdmadModule *owner, const char *lock)
{
	RdmadExecutor *executor = g_new0(RdmadExecutor, 1);

	executor->loop = loop;
	executor->owner = owner;
	executor->lock = g_strdup(lock);
	executor->requests = g_hash_table_new(g_int64_hash, g_int64_equal);
	return executor;
}

void rdmad_executor_free(RdmadExecutor *executor)
{
	if (!executor)
		return;
	rdmad_message_peer_close(executor->peer);
	executor_end(executor);
	g_list_free_full(g_hash_table_get_values(executor->requests), g_free);
	g_hash_table_unref(executor->requests);
	g_free(executor->lock);
	g_free(executor);
}

int rdmad_executor_pid(const RdmadExecutor *executor)
{
	return executor->pid;
}

static gboolean request_send(RdmadExecutor *executor, const char *text, const int *fds, guint n,
			     GError **error)
{
	return rdmad_message_peer_send(executor->peer, text, strlen(text), fds, n, error);
}

static gboolean steps_send(RdmadExecutor *executor, const char *head, const char *steps, int netns,
			   GError **error)
{
	g_autofree char *text = g_strdup_printf("%s,\"steps\":%s}", head, steps);

	return request_send(executor, text, &netns, netns >= 0, error);
}

static gboolean steps_send_file(RdmadExecutor *executor, const char *head, const char *steps,
				int netns, GError **error)
{
	g_autofree char *text = g_strconcat(head, ",\"in_memory\":true}", NULL);
	const gssize size = (gssize)strlen(steps);
	rdmad_autofd int file = memfd_create("rdmad-steps", MFD_CLOEXEC);
	const int fds[] = { netns, file };

	if (size > RDMAD_STEP_JSON_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT, "a plan of more than %u bytes",
			    RDMAD_STEP_JSON_MAX);
		return FALSE;
	}
	if (file < 0 || pwrite(file, steps, (gsize)size, 0) != size)
		return rdmad_error_errno(error, errno, "cannot hand over the steps");
	return netns >= 0 ? request_send(executor, text, fds, 2, error)
			  : request_send(executor, text, &file, 1, error);
}

guint64 rdmad_executor_run(RdmadExecutor *executor, RdmadExecute what, const char *steps, int netns,
			   RdmadExecutorDone done, gpointer data, GError **error)
{
	const guint64 number = executor->last + 1;
	g_autofree char *head =
		g_strdup_printf("{\"id\":%" G_GUINT64_FORMAT ",\"what\":%d", number, (int)what);
	Request *request;

	if (!executor_start(executor, error) ||
	    !(strlen(steps) > INLINE_MAX ? steps_send_file : steps_send)(executor, head, steps,
									 netns, error))
		return 0;
	request = g_new0(Request, 1);
	request->number = executor->last = number;
	request->done = done;
	request->data = data;
	g_hash_table_insert(executor->requests, &request->number, request);
	return number;
}

void rdmad_executor_cancel(RdmadExecutor *executor, guint64 number)
{
	g_autofree char *text =
		g_strdup_printf("{\"id\":%" G_GUINT64_FORMAT ",\"cancel\":true}", number);

	if (executor->peer && g_hash_table_contains(executor->requests, &number))
		rdmad_message_peer_send(executor->peer, text, strlen(text), NULL, 0, NULL);
}
