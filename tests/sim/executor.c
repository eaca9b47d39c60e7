/* SPDX-License-Identifier: Apache-2.0 */
#include "executor.h"

#include <fcntl.h>
#include <jansson.h>
#include <rdmad/fd.h>
#include <rdmad/host-command.h>
#include <rdmad/json.h>
#include <rdmad/loop.h>
#include <rdmad/message-socket.h>
#include <rdmad/netns.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "life.h"
#include "network.h"
#include "network/keeper.h"
#include "network/perform.h"

#define DEPTH	    8u
#define CHANGES_MAX 12u /* maximum of changes after the end of its daemon */

static const guint pauses_ms[] = { 0, 1, 50, 1500 };

typedef struct {
	RdmadMessagePeer *peer;
	GPtrArray *tasks; /* of Task */
} Process;

typedef struct {
	Process *process;
	json_int_t id;
	PerformPlan *plan;
	int netns, host; /* -1: none */
	gboolean is_undo;
	int cancelled;
	RdmadEvent *timer;
} Task;

typedef struct {
	gint64 ended_us, took_us;
} Wait;

static struct {
	RdmadLoop *loop;
	Decisions *decisions;
	GPtrArray *processes; /* of Process */
	GArray *waits;	      /* of Wait, of the run */
	gboolean is_for_host; /* the step that is executed */
	gboolean limited;     /* its daemon has ended */
	guint left;	      /* number of changes that it still makes then */
} executor;

static void task_free(gpointer data)
{
	Task *task = data;

	perform_plan_free(task->plan);
	rdmad_clear_fd(&task->netns);
	rdmad_clear_fd(&task->host);
	rdmad_event_free(task->timer);
	g_free(task);
}

static void process_free(gpointer data)
{
	Process *process = data;

	g_ptr_array_unref(process->tasks);
	rdmad_message_peer_close(process->peer);
	g_free(process);
}

gboolean executor_is_for_host(void)
{
	return executor.is_for_host;
}

gboolean executor_effect(void)
{
	if (!executor.limited)
		return life_effect();
	return executor.left > 0 && executor.left--;
}

/* ---- answers ---- */

static void answer(const Process *process, json_t *json, const int *fds, guint n_fds)
{
	char *text = json_dumps(json, JSON_COMPACT);

	rdmad_message_peer_send(process->peer, text, strlen(text), fds, n_fds, NULL);
	free(text);
	json_decref(json);
}

static void answer_error(const Process *process, json_int_t id, const GError *error)
{
	answer(process,
	       json_pack("{s:I, s:s, s:i}", "id", id, "error", error->message, "code", error->code),
	       NULL, 0);
}

static void task_answer(const Task *task)
{
	json_t *json = json_pack("{s:I}", "id", task->id);

	perform_plan_report(task->plan, json);
	answer(task->process, json, NULL, 0);
}

/* ---- steps ---- */

static void wait_note(gint64 began_us)
{
	const Wait wait = { clock_now_us(), clock_now_us() - began_us };

	if (wait.took_us)
		g_array_append_val(executor.waits, wait);
}

gint64 executor_waited_us(gint64 since_us)
{
	gint64 waited_us = 0;

	for (guint i = executor.waits->len; i-- > 0;) {
		const Wait *wait = &g_array_index(executor.waits, Wait, i);

		if (wait->ended_us <= since_us)
			break;
		waited_us += wait->took_us;
	}
	return waited_us;
}

/* Returns FALSE at the end of the plan. */
static gboolean task_step(Task *task)
{
	PerformLink last = { 0 };
	Netns *netns = network_of_fd(task->netns);
	g_autoptr(RdmadNetwork) host = network_handle(network_host());
	g_autoptr(RdmadNetwork) pod = netns ? network_handle(netns) : NULL;
	const PerformContext ctx = { .host = host,
				     .pod = pod,
				     .host_fd = task->host,
				     .pod_fd = task->netns,
				     .last = &last,
				     .cancelled = &task->cancelled };
	const gint64 began_us = clock_now_us();
	gboolean more;

	executor.is_for_host = task->netns < 0 && !task->is_undo;
	network_enter(netns);
	more = perform_plan_next(task->plan, &ctx);
	network_enter(NULL);
	executor.is_for_host = FALSE;
	wait_note(began_us);
	return more;
}

static guint pause_ms(void)
{
	return pauses_ms[decide_rarely(executor.decisions, DECIDE_KERNEL, 20,
				       G_N_ELEMENTS(pauses_ms))];
}

static void task_work(gpointer data)
{
	Task *task = data;
	guint ms = 0;

	do {
		if (!task_step(task)) {
			task_answer(task);
			g_ptr_array_remove(task->process->tasks, task);
			return;
		}
		ms = pause_ms();
	} while (!ms && !life_is_over());
	/* The executor ended together with rdmad, at the same change. */
	if (life_is_over())
		g_ptr_array_set_size(task->process->tasks, 0);
	else
		rdmad_event_arm(task->timer, ms);
}

static void task_begin(Process *process, const json_t *json, RdmadMessage *message,
		       const char *text)
{
	g_autoptr(GError) error = NULL;
	const RdmadExecute what = (RdmadExecute)json_integer_value(json_object_get(json, "what"));
	Task *task = g_new0(Task, 1);

	task->process = process;
	task->is_undo = what == RDMAD_EXECUTE_UNDO;
	task->id = json_integer_value(json_object_get(json, "id"));
	task->netns = message->n_fds ? rdmad_steal_fd(&message->fds[0]) : -1;
	task->host = open(network_host()->path, O_RDONLY | O_CLOEXEC);
	task->timer = rdmad_loop_add_timer(executor.loop, NULL, task_work, task);
	task->plan = perform_plan_new(what, text, &error);
	if (!task->plan) {
		answer_error(process, task->id, error);
		task_free(task);
		return;
	}
	g_ptr_array_add(process->tasks, task);
	rdmad_event_arm(task->timer, pause_ms());
}

static void cancel(const Process *process, json_int_t id)
{
	for (guint i = 0; i < process->tasks->len; i++) {
		Task *task = process->tasks->pdata[i];

		if (task->id == id)
			task->cancelled = TRUE;
	}
}

/* ---- opening of files ---- */

/* Returns a file with the value of a sysctl that no pod of this world changes. */
static int sysctl_open(void)
{
	const int fd = files_make_nameless("sysctl");

	g_assert_cmpint(pwrite(fd, "1\n", 2, 0), ==, 2);
	return fd;
}

static void files_open(const Process *process, json_int_t id, const json_t *names,
		       RdmadMessage *message)
{
	const guint n = 1 + (guint)json_array_size(names);
	json_t *opened = json_array();
	int fds[RDMAD_MESSAGE_FDS_MAX];

	fds[0] = message->n_fds ? rdmad_steal_fd(&message->fds[0]) : -1;
	g_assert_nonnull(network_of_fd(fds[0]));
	for (guint i = 0; i < n; i++) {
		if (i)
			fds[i] = sysctl_open();
		json_array_append_new(opened, json_true());
	}
	answer(process, json_pack("{s:I, s:o}", "id", id, "opened", opened), fds, n);
	for (guint i = 0; i < n; i++)
		close(fds[i]);
}

static void netns_open(const Process *process, json_int_t id, const char *path)
{
	g_autoptr(GError) error = NULL;
	rdmad_autofd int fd = rdmad_netns_open(path, NULL, &error);

	if (fd < 0)
		answer_error(process, id, error);
	else
		answer(process, json_pack("{s:I, s:[b]}", "id", id, "opened", 1), &fd, 1);
}

/* ---- the socket ---- */

static void message_received(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	const char *text = (const char *)message->bytes;
	const char *end = memchr(text, '\n', message->size);
	json_t *json =
		rdmad_json_parse(text, end ? (gsize)(end - text) : message->size, DEPTH, NULL);
	const json_int_t id = json_integer_value(json_object_get(json, "id"));

	g_assert_nonnull(json);
	g_assert_null(json_object_get(json, "in_memory"));
	if (json_is_true(json_object_get(json, "cancel")))
		cancel(data, id);
	else if (json_object_get(json, "open"))
		files_open(data, id, json_object_get(json, "open"), message);
	else if (json_object_get(json, "path"))
		netns_open(data, id, json_string_value(json_object_get(json, "path")));
	else
		task_begin(data, json, message, end + 1);
	json_decref(json);
}

/* Ends the process, possibly within a step. */
static void process_end(Process *process)
{
	executor.limited = TRUE;
	executor.left = decide_rarely(executor.decisions, DECIDE_KERNEL, 2, CHANGES_MAX);
	for (guint i = 0; i < process->tasks->len; i++)
		while (executor.left && task_step(process->tasks->pdata[i]))
			;
	executor.limited = FALSE;
	g_ptr_array_remove(executor.processes, process);
}

static void daemon_gone(RdmadMessagePeer *peer, gpointer data)
{
	((Process *)data)->peer = NULL;
	process_end(data);
}

gboolean __wrap_rdmad_keeper_start(const RdmadKeeper *keeper, int socket, const char *lock,
				   GError **error);
gboolean __wrap_rdmad_keeper_start(const RdmadKeeper *keeper, int socket, const char *lock,
				   GError **error)
{
	static const RdmadMessageLimits limits = { .fds_max = 2, .unanswered_max = G_MAXUINT };
	static const RdmadMessageOps ops = { message_received, daemon_gone };
	Process *process = g_new0(Process, 1);

	process->tasks = g_ptr_array_new_with_free_func(task_free);
	process->peer =
		rdmad_message_peer_new(executor.loop, NULL, fcntl(socket, F_DUPFD_CLOEXEC, 0),
				       &limits, &ops, process, error);
	g_assert_nonnull(process->peer);
	g_ptr_array_add(executor.processes, process);
	return TRUE;
}

/* Programs of the host are declared, and never started: the driver is there (node.c). */
guint __wrap_rdmad_host_declare(RdmadKeeper *keeper, const RdmadSysroot *root,
				const RdmadHostCommand *command, GError **error);
guint __wrap_rdmad_host_declare(RdmadKeeper *keeper, const RdmadSysroot *root,
				const RdmadHostCommand *command, GError **error)
{
	return 1;
}

/* ---- life cycle ---- */

void executor_begin(RdmadLoop *loop, Decisions *decisions)
{
	executor.loop = loop;
	executor.decisions = decisions;
	executor.limited = FALSE;
	executor.processes = g_ptr_array_new_with_free_func(process_free);
	executor.waits = g_array_new(FALSE, FALSE, sizeof(Wait));
}

void executor_end(void)
{
	g_clear_pointer(&executor.processes, g_ptr_array_unref);
	g_clear_pointer(&executor.waits, g_array_unref);
}

void executor_kill(void)
{
	while (executor.processes->len)
		process_end(executor.processes->pdata[0]);
}

void executor_cut_power(void)
{
	g_ptr_array_set_size(executor.processes, 0);
}
