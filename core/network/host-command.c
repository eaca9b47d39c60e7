/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of the protocol of a host command's process, in one file so that they stay consistent
 *
 *	{ "kind": 0, "root": "/machine", "argv": [ .. ], "environment": [ .. ],
 *	  "package": "/opt/package", "sha256": "..", "cgroup": "..", "lock": "..",
 *	  "timeout_ms": 60000, "module": null, "parameter": null }
 *	{ "tail": "..", "error": "..", "code": 2 }	the answer, after which the process ends
 *
 * The keeper passes the command, which it received before the list was closed; the daemon sends
 * nothing.  The process kills its program and exits when the daemon closes its side or ends.
 */
#include <rdmad/host-command.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <rdmad/child.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <rdmad/loop.h>
#include <rdmad/message-socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "hardware/kernel-modules.h"
#include "hardware/sysroot.h"
#include "network/keeper.h"

#define DEPTH 4u

static const RdmadMessageLimits limits = { .fds_max = 0 };

/* ---- the host process's side ---- */

typedef struct {
	json_t *command;
	RdmadSysroot *root;
	int socket; /* of the daemon's side */
	RdmadMessagePeer *peer;
	RdmadChild *child;
} HostTask;

static const char *text_of(const HostTask *task, const char *key)
{
	return json_string_value(json_object_get(task->command, key));
}

/* Replies and exits.  A failed send is ignored: the daemon has ended. */
G_NORETURN static void host_task_answer(HostTask *task, const char *tail, const GError *error)
{
	g_autofree char *problem = error ? g_utf8_make_valid(error->message, -1) : NULL;
	json_t *json = json_pack("{s:s, s:s?, s:i}", "tail", tail, "error", problem, "code",
				 error ? error->code : 0);
	char *text = json_dumps(json, JSON_COMPACT);

	(void)rdmad_message_peer_send(task->peer, text, strlen(text), NULL, 0, NULL);
	_exit(EXIT_SUCCESS);
}

/* ---- the package ---- */

/* Reads the file once: the program gets exactly the bytes whose checksum was verified. */
static GBytes *package_read(const HostTask *task, const char *path, GError **error)
{
	rdmad_autofd int fd =
		rdmad_sysroot_open(task->root, path + 1, O_RDONLY | O_NONBLOCK, error);
	g_autoptr(GString) bytes = NULL;
	g_autofree char *sum = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0) {
		rdmad_error_errno(error, errno, "cannot read it");
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > RDMAD_HOST_PACKAGE) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "not a file of at most %u MiB",
			    RDMAD_HOST_PACKAGE >> 20);
		return NULL;
	}
	bytes = g_string_sized_new((gsize)st.st_size + 1);
	if (!rdmad_fd_read_all(fd, RDMAD_HOST_PACKAGE, bytes)) {
		rdmad_error_errno(error, errno, "cannot read it");
		return NULL;
	}
	sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes->str,
					  bytes->len);
	if (g_ascii_strcasecmp(sum, text_of(task, "sha256") ?: "") != 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "its sha256 is %s, not the configured one", sum);
		return NULL;
	}
	return g_string_free_to_bytes(g_steal_pointer(&bytes));
}

/* ---- the program ---- */

/* Appends the output, with control characters other than newlines removed. */
static void tail_append(GString *tail, const RdmadChildOutput *output)
{
	g_autofree char *text = g_utf8_make_valid(output->bytes, (gssize)output->size);

	for (char *at = text; *at; at++)
		if ((guchar)*at < ' ' && *at != '\n')
			*at = ' ';
	g_string_append(tail, g_strchomp(text));
	if (text[0] != '\0')
		g_string_append_c(tail, '\n');
}

static char *tail_of(const RdmadChildResult *result)
{
	GString *tail = g_string_new(NULL);

	tail_append(tail, &result->output);
	tail_append(tail, &result->errors);
	return g_strchomp(g_string_free(tail, FALSE));
}

/* Returns the last line, which usually has the reason of a failure. */
static const char *last_line(const char *tail)
{
	const char *end = strrchr(tail, '\n');

	return end ? end + 1 : tail;
}

static const char *program_name(const HostTask *task)
{
	return json_string_value(json_array_get(json_object_get(task->command, "argv"), 0));
}

static guint64 program_timeout(const HostTask *task)
{
	return (guint64)json_integer_value(json_object_get(task->command, "timeout_ms"));
}

static void result_check(const HostTask *task, const RdmadChildResult *result, const char *tail,
			 GError **error)
{
	const char *name = program_name(task);
	const char *line = last_line(tail);
	const char *colon = line[0] ? ": " : "";

	if (result->timed_out)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT,
			    "%s did not end within %" G_GUINT64_FORMAT " s and was killed%s%s",
			    name, program_timeout(task) / 1000, colon, line);
	else if (result->out_of_memory && (result->signal || result->exit_status != 0))
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "%s was killed, out of memory%s%s", name, colon, line);
	else if (result->signal)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "%s was ended by signal %d%s%s",
			    name, result->signal, colon, line);
	else if (result->exit_status != 0)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "%s failed with exit status %d%s%s", name, result->exit_status, colon,
			    line);
}

static void program_done(const RdmadChildResult *result, const GError *error, gpointer data)
{
	HostTask *task = data;
	g_autofree char *tail = result ? tail_of(result) : g_strdup("");
	g_autoptr(GError) problem = error ? g_error_copy(error) : NULL;

	if (result)
		result_check(task, result, tail, &problem);
	host_task_answer(task, tail, problem);
}

/* Returns `first` and the texts of the list, borrowed; NULL-terminated. */
static const char **texts_of(const HostTask *task, const char *key, const char *const *first)
{
	const json_t *list = json_object_get(task->command, key);
	GPtrArray *texts = g_ptr_array_new();
	const json_t *text;
	gsize i;

	for (i = 0; first && first[i]; i++)
		g_ptr_array_add(texts, (gpointer)first[i]);
	json_array_foreach(list, i, text) g_ptr_array_add(texts, (gpointer)json_string_value(text));
	g_ptr_array_add(texts, NULL);
	return (const char **)g_ptr_array_free(texts, FALSE);
}

static gboolean program_start(HostTask *task, RdmadLoop *loop, GBytes *package, GError **error)
{
	static const char *const always[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		"LC_ALL=C", NULL
	};
	const gboolean live = rdmad_sysroot_is_live(task->root);
	g_autofree const char **argv = texts_of(task, "argv", NULL);
	g_autofree const char **environment = texts_of(task, "environment", always);
	g_autofree char *path = rdmad_sysroot_program(task->root, argv[0], error);

	if (!path)
		return FALSE;
	argv[0] = path;
	task->child = rdmad_child_start(
		loop, NULL,
		&(RdmadChildSpec){
			.argv = argv,
			.envp = environment,
			.input = package ? g_bytes_get_data(package, NULL) : NULL,
			.input_size = package ? g_bytes_get_size(package) : 0,
			.on_host = live,
			.cgroup = live ? text_of(task, "cgroup") : NULL,
			.deadline_ms = (guint)MIN(program_timeout(task), G_MAXUINT),
			.output_max = RDMAD_HOST_TAIL / 2,
		},
		program_done, task, error);
	return task->child != NULL;
}

static gboolean program_run(HostTask *task, RdmadLoop *loop, GError **error)
{
	const char *path = text_of(task, "package");
	g_autoptr(GBytes) package = path ? package_read(task, path, error) : NULL;

	if (!path || package)
		return program_start(task, loop, package, error);
	g_prefix_error(error, "%s: ", path);
	return FALSE;
}

/* ---- life cycle ---- */

static void daemon_message(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
}

/* Kills the program with its descendants and waits for them, because the next command starts when
 * this process has ended. */
static void daemon_gone(RdmadMessagePeer *peer, gpointer data)
{
	HostTask *task = data;

	rdmad_child_cancel(task->child);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	_exit(EXIT_SUCCESS);
}

static const RdmadMessageOps daemon_ops = { daemon_message, daemon_gone };

/* Exits if the daemon has ended while this command waited for its turn. */
static gboolean turn_take(const HostTask *task, GError **error)
{
	char byte;

	if (!rdmad_keeper_take_turn(text_of(task, "lock"), error))
		return FALSE;
	if (recv(task->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		_exit(EXIT_SUCCESS);
	return TRUE;
}

/* Returns TRUE if a program runs, which will reply. */
static gboolean host_task_begin(HostTask *task, RdmadLoop *loop, GError **error)
{
	const char *module = text_of(task, "module");

	task->root = rdmad_sysroot_new(text_of(task, "root"), error);
	if (!task->root || !turn_take(task, error))
		return FALSE;
	switch ((RdmadHostKind)json_integer_value(json_object_get(task->command, "kind"))) {
	case RDMAD_HOST_PROGRAM:
		return program_run(task, loop, error);
	case RDMAD_HOST_INSERT:
		rdmad_kernel_module_insert(task->root, module, text_of(task, "parameter"), error);
		return FALSE;
	case RDMAD_HOST_REMOVE:
		rdmad_kernel_module_remove(module, error);
		return FALSE;
	}
	return FALSE;
}

void rdmad_host_serve(int socket, const char *command)
{
	HostTask task = { .command = json_loads(command, 0, NULL), .socket = socket };
	RdmadLoop *loop = rdmad_loop_new();
	g_autoptr(GError) error = NULL;

	if (loop && task.command)
		task.peer = rdmad_message_peer_new(loop, NULL, socket, &limits, &daemon_ops, &task,
						   &error);
	/* The daemon sees that the socket is closed. */
	if (!task.peer)
		return;
	if (!host_task_begin(&task, loop, &error))
		host_task_answer(&task, "", error);
	rdmad_loop_run(loop);
}

/* ---- the daemon's side ---- */

struct RdmadHostRun {
	RdmadMessagePeer *peer;
	RdmadHostDone done;
	gpointer data;
};

static json_t *json_texts(const char *const *texts)
{
	json_t *list = json_array();

	/* A text that is not UTF-8 makes the result NULL. */
	for (; list && texts && *texts; texts++)
		if (json_array_append_new(list, json_string(*texts)) < 0)
			g_clear_pointer(&list, json_decref);
	return list;
}

static char *command_text(const RdmadSysroot *root, const RdmadHostCommand *command)
{
	json_t *json = json_pack("{s:i, s:s?, s:o, s:o, s:s?, s:s?, s:s?, s:s, s:I, s:s?, s:s?}",
				 "kind", (int)command->kind, "root", rdmad_sysroot_path(root),
				 "argv", json_texts(command->argv), "environment",
				 json_texts(command->environment), "package", command->package,
				 "sha256", command->sha256, "cgroup", command->cgroup, "lock",
				 command->lock, "timeout_ms", (json_int_t)command->timeout_ms,
				 "module", command->module, "parameter", command->parameter);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

guint rdmad_host_declare(RdmadKeeper *keeper, const RdmadSysroot *root,
			 const RdmadHostCommand *command, GError **error)
{
	char *text = command_text(root, command);
	guint number = 0;

	if (text)
		number = rdmad_keeper_declare(keeper, text, error);
	else
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
				    "a command of the host is not in UTF-8");
	free(text);
	return number;
}

static void run_finish(RdmadHostRun *run, const char *tail, const GError *error)
{
	g_autofree RdmadHostRun *ended = run;

	ended->done(tail, error, ended->data);
}

static void answer_take(RdmadMessagePeer *peer, RdmadMessage *message, gpointer data)
{
	RdmadHostRun *run = data;
	json_t *json = rdmad_json_parse((const char *)message->bytes, message->size, DEPTH, NULL);
	const char *problem = json_string_value(json_object_get(json, "error"));
	g_autoptr(GError) error = NULL;

	if (problem)
		error = g_error_new_literal(RDMAD_ERROR,
					    (int)json_integer_value(json_object_get(json, "code")),
					    problem);
	rdmad_message_peer_close(peer);
	run_finish(run, json_string_value(json_object_get(json, "tail")) ?: "", error);
	json_decref(json);
}

static void answer_gone(RdmadMessagePeer *peer, gpointer data)
{
	g_autoptr(GError) error = g_error_new_literal(RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
						      "the process of a host command ended");

	run_finish(data, "", error);
}

static const RdmadMessageOps answer_ops = { answer_take, answer_gone };

RdmadHostRun *rdmad_host_start(RdmadLoop *loop, RdmadModule *owner, RdmadKeeper *keeper,
			       guint number, RdmadHostDone done, gpointer data, GError **error)
{
	g_autofree RdmadHostRun *run = g_new0(RdmadHostRun, 1);
	rdmad_autofd int ours = -1, theirs = -1;

	run->done = done;
	run->data = data;
	if (!rdmad_message_pair(&ours, &theirs, error) ||
	    !rdmad_keeper_run(keeper, theirs, number, error))
		return NULL;
	run->peer = rdmad_message_peer_new(loop, owner, rdmad_steal_fd(&ours), &limits, &answer_ops,
					   run, error);
	return run->peer ? g_steal_pointer(&run) : NULL;
}

void rdmad_host_cancel(RdmadHostRun *run)
{
	if (!run)
		return;
	rdmad_message_peer_close(run->peer);
	g_free(run);
}
