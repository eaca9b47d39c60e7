/* SPDX-License-Identifier: Apache-2.0 */
#include "network/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/message-socket.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"

#define PROGRAM	    "/proc/self/exe"
#define SOCKET_FD   3
#define EXEC_FAILED 125

#define COMMANDS_MAX 64u

static const RdmadMessageLimits limits = { .fds_max = 1 };

/* ---- the keeper process ---- */

typedef struct {
	int socket;
	RdmadSeccomp seccomp; /* for executors; OFF: they inherit the keeper's filter */
	GPtrArray *commands;  /* of char * */
	gboolean is_closed;
} Keeper;

/* Only this handler reaps executors; without it, their end by seccomp would go unreported. */
static void child_ended(int signum)
{
	static const char text[] =
		"rdmad: executor: ended by SIGSYS: seccomp does not allow a system call "
		"that it made; its number is in the kernel's log, see rdmad(8)\n";
	const int saved = errno;
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0)
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
			(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	errno = saved;
}

static void children_watch(void)
{
	const struct sigaction action = { .sa_handler = child_ended,
					  .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	sigaction(SIGCHLD, &action, NULL);
}

/* The kernel releases the lock when the process's last thread ends. */
gboolean rdmad_keeper_take_turn(const char *lock, GError **error)
{
	const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", lock);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return rdmad_error_errno(error, errno, "cannot lock %s", lock);
	return TRUE;
}

/* Exits if the filter cannot be installed; the daemon sees the process end. */
static void executor_limit(RdmadSeccomp seccomp)
{
	g_autoptr(GError) error = NULL;

	if (rdmad_seccomp_install(seccomp, RDMAD_SECCOMP_EXECUTOR, &error) ||
	    g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE))
		return;
	fprintf(stderr, "rdmad: executor: %s\n", error->message);
	_exit(EXIT_FAILURE);
}

static void executor_serve(const Keeper *keeper, int socket, const char *lock)
{
	executor_limit(keeper->seccomp);
	rdmad_executor_serve(socket, lock);
}

static void host_serve(const Keeper *keeper, int socket, const char *command)
{
	rdmad_host_serve(socket, command);
}

typedef struct {
	const char *name;
	void (*serve)(const Keeper *keeper, int socket, const char *text);
	unsigned long death_signal; /* when the keeper ends; 0: none */
} Kind;

static const Kind executor_kind = { "rdmad-executor", executor_serve, SIGKILL };
/* A host process sees the daemon end, and ends its program with itself. */
static const Kind host_kind = { "rdmad-host", host_serve, 0 };

static void process_fork(const Keeper *keeper, const Kind *kind, int socket, const char *text)
{
	const pid_t parent = getpid();
	const pid_t pid = fork();

	if (pid < 0)
		fprintf(stderr, "%s: %s\n", kind->name, strerror(errno));
	if (pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, kind->death_signal);
	prctl(PR_SET_NAME, kind->name);
	close(keeper->socket);
	signal(SIGCHLD, SIG_DFL);
	/* The keeper may have ended before PR_SET_PDEATHSIG took effect. */
	if (getppid() == parent)
		kind->serve(keeper, socket, text);
	_exit(EXIT_FAILURE);
}

static void keeper_add(Keeper *keeper, const char *text)
{
	if (!keeper->is_closed && keeper->commands->len < COMMANDS_MAX)
		g_ptr_array_add(keeper->commands, g_strdup(text));
}

/* An unserved socket is closed, which the daemon sees. */
static void keeper_run(const Keeper *keeper, int socket, const char *digits)
{
	const guint64 number = g_ascii_strtoull(digits, NULL, 10);

	if (keeper->is_closed && number >= 1 && number <= keeper->commands->len)
		process_fork(keeper, &host_kind, socket, keeper->commands->pdata[number - 1]);
}

/* A keeper without host commands needs no more system calls than its executors. */
static void keeper_close_list(Keeper *keeper)
{
	keeper->is_closed = TRUE;
	if (keeper->commands->len)
		return;
	executor_limit(keeper->seccomp);
	keeper->seccomp = RDMAD_SECCOMP_OFF;
}

static void keeper_handle(Keeper *keeper, const RdmadMessage *message)
{
	const char *rest = (const char *)message->bytes + 1;

	switch (message->bytes[0]) {
	case 'C':
		keeper_add(keeper, rest);
		break;
	case 'L':
		keeper_close_list(keeper);
		break;
	case 'E':
		if (message->n_fds)
			process_fork(keeper, &executor_kind, message->fds[0], rest);
		break;
	case 'R':
		if (message->n_fds)
			keeper_run(keeper, message->fds[0], rest);
		break;
	default:
		break;
	}
}

static int keep(int socket, RdmadSeccomp seccomp, GError **error)
{
	Keeper keeper = { socket, seccomp, g_ptr_array_new(), FALSE };
	RdmadMessage *message;

	while ((message = rdmad_message_receive(socket, &limits, error))) {
		keeper_handle(&keeper, message);
		rdmad_message_free(message);
	}
	return g_error_matches(*error, RDMAD_ERROR, RDMAD_ERROR_GONE) ? 0 : 1;
}

int rdmad_keeper_main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	int status = 1;

	if (argc != 5)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	children_watch();
	prctl(PR_SET_NAME, "rdmad-keeper");
	/* An executor's threads wait more than they allocate. */
	mallopt(M_ARENA_MAX, 1);
	if (rdmad_capabilities_limit(strtoull(argv[3], NULL, 16), &error))
		status = keep(atoi(argv[2]), (RdmadSeccomp)atoi(argv[4]), &error);
	if (status)
		fprintf(stderr, "rdmad: executor: %s\n", error->message);
	return status;
}

/* ---- the daemon's side ---- */

struct RdmadKeeper {
	pid_t pid;
	int fd;
	GPtrArray *commands; /* of char *, by number - 1 */
	gboolean is_closed;
};

/* Runs between fork and exec: only async-signal-safe calls. */
G_NORETURN static void child_exec(int socket, pid_t parent, char *const *argv)
{
	/* glibc must not cache the stacks of ended threads. */
	char *const envp[] = { (char *)"GLIBC_TUNABLES=glibc.pthread.stack_cache_size=0", NULL };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXEC_FAILED);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (socket == SOCKET_FD ? fcntl(socket, F_SETFD, 0) == 0
				: dup2(socket, SOCKET_FD) == SOCKET_FD)
		execve(PROGRAM, argv, envp);
	_exit(EXEC_FAILED);
}

RdmadKeeper *rdmad_keeper_new(guint64 capabilities, RdmadSeccomp seccomp, GError **error)
{
	char mask[17], mode[11];
	char *const argv[] = { (char *)"rdmad",
			       (char *)RDMAD_KEEPER_OPTION,
			       (char *)G_STRINGIFY(SOCKET_FD),
			       mask,
			       mode,
			       NULL };
	const pid_t parent = getpid();
	rdmad_autofd int ours = -1, theirs = -1;
	RdmadKeeper *keeper;
	pid_t pid;

	g_snprintf(mode, sizeof(mode), "%d", (int)seccomp);
	g_snprintf(mask, sizeof(mask), "%" G_GINT64_MODIFIER "x", capabilities);
	if (!rdmad_message_pair(&ours, &theirs, error))
		return NULL;
	pid = fork();
	if (pid == 0)
		child_exec(theirs, parent, argv);
	if (pid < 0) {
		rdmad_error_errno(error, errno, "cannot start the keeper of executors");
		return NULL;
	}
	keeper = g_new0(RdmadKeeper, 1);
	keeper->pid = pid;
	keeper->fd = rdmad_steal_fd(&ours);
	keeper->commands = g_ptr_array_new_with_free_func(g_free);
	return keeper;
}

void rdmad_keeper_free(RdmadKeeper *keeper)
{
	if (!keeper)
		return;
	rdmad_clear_fd(&keeper->fd);
	kill(keeper->pid, SIGKILL);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	g_ptr_array_unref(keeper->commands);
	g_free(keeper);
}

int rdmad_keeper_fd(const RdmadKeeper *keeper)
{
	return keeper->fd;
}

/* `fd` -1: no descriptor. */
static gboolean keeper_send(const RdmadKeeper *keeper, char what, const char *rest, int fd,
			    GError **error)
{
	g_autofree char *text = g_strdup_printf("%c%s", what, rest);

	return rdmad_message_send(keeper->fd, text, strlen(text), &fd, fd >= 0, error);
}

gboolean rdmad_keeper_start(const RdmadKeeper *keeper, int socket, const char *lock, GError **error)
{
	return keeper_send(keeper, 'E', lock, socket, error);
}

guint rdmad_keeper_declare(RdmadKeeper *keeper, const char *text, GError **error)
{
	guint at;

	if (g_ptr_array_find_with_equal_func(keeper->commands, text, g_str_equal, &at))
		return at + 1;
	if (keeper->is_closed) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
				    "which programs of the host are run, and how, is settled when "
				    "rdmad starts: restart it");
		return 0;
	}
	if (keeper->commands->len >= COMMANDS_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "more than %u commands of the host", COMMANDS_MAX);
		return 0;
	}
	if (!keeper_send(keeper, 'C', text, -1, error))
		return 0;
	g_ptr_array_add(keeper->commands, g_strdup(text));
	return keeper->commands->len;
}

gboolean rdmad_keeper_close_list(RdmadKeeper *keeper, GError **error)
{
	if (keeper)
		keeper->is_closed = TRUE;
	return !keeper || keeper_send(keeper, 'L', "", -1, error);
}

gboolean rdmad_keeper_run(const RdmadKeeper *keeper, int socket, guint number, GError **error)
{
	g_autofree char *digits = g_strdup_printf("%u", number);

	return keeper_send(keeper, 'R', digits, socket, error);
}
