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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"

#define PROGRAM	  "/proc/self/exe"
#define SOCKET_FD 3
#define NOT_YET	  125

static const RdmadMessageLimits limits = { .fds_max = 1, .size_max = 4096 };

/* ---- the keeper itself ---- */

static void executor_fork(int own, const RdmadMessage *message)
{
	const pid_t keeper = getpid();
	const pid_t pid = fork();

	if (pid < 0)
		fprintf(stderr, "rdmad: executor: %s\n", strerror(errno));
	if (pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "rdmad-executor");
	close(own);
	signal(SIGCHLD, SIG_DFL);
	/* It may have ended before it would have been told. */
	if (getppid() == keeper)
		rdmad_executor_serve(message->fds[0], (const char *)message->bytes);
	_exit(EXIT_FAILURE);
}

static int keep(int socket, GError **error)
{
	RdmadMessage *message;

	while ((message = rdmad_message_receive(socket, &limits, error))) {
		/* The daemon sees the end of a socket that nobody serves. */
		if (message->n_fds)
			executor_fork(socket, message);
		rdmad_message_free(message);
	}
	return g_error_matches(*error, RDMAD_ERROR, RDMAD_ERROR_GONE) ? 0 : 1;
}

int rdmad_keeper_main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	int status = 1;

	if (argc != 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* nobody waits for executors */
	prctl(PR_SET_NAME, "rdmad-keeper");
	/* An executor's threads wait more than they allocate. */
	mallopt(M_ARENA_MAX, 1);
	if (rdmad_capabilities_limit(strtoull(argv[3], NULL, 16), &error))
		status = keep(atoi(argv[2]), &error);
	if (status)
		fprintf(stderr, "rdmad: executor: %s\n", error->message);
	return status;
}

/* ---- the daemon's end ---- */

struct RdmadKeeper {
	pid_t pid;
	int fd;
};

/* Between fork and exec. */
G_NORETURN static void child_exec(int socket, pid_t parent, char *const *argv)
{
	/* Stacks of threads that ended are not kept. */
	char *const envp[] = { (char *)"GLIBC_TUNABLES=glibc.pthread.stack_cache_size=0", NULL };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NOT_YET);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (socket == SOCKET_FD ? fcntl(socket, F_SETFD, 0) == 0
				: dup2(socket, SOCKET_FD) == SOCKET_FD)
		execve(PROGRAM, argv, envp);
	_exit(NOT_YET);
}

RdmadKeeper *rdmad_keeper_new(guint64 capabilities, GError **error)
{
	char mask[17];
	char *const argv[] = { (char *)"rdmad", (char *)RDMAD_KEEPER_OPTION,
			       (char *)G_STRINGIFY(SOCKET_FD), mask, NULL };
	const pid_t parent = getpid();
	rdmad_autofd int ours = -1, theirs = -1;
	RdmadKeeper *keeper;
	int pair[2];
	pid_t pid;

	g_snprintf(mask, sizeof(mask), "%" G_GINT64_MODIFIER "x", capabilities);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		rdmad_error_errno(error, errno, "cannot start the keeper of executors");
		return NULL;
	}
	ours = pair[0];
	theirs = pair[1];
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
	g_free(keeper);
}

int rdmad_keeper_fd(const RdmadKeeper *keeper)
{
	return keeper->fd;
}

gboolean rdmad_keeper_start(const RdmadKeeper *keeper, int socket, const char *lock, GError **error)
{
	return rdmad_message_send(keeper->fd, lock, strlen(lock), &socket, 1, error);
}
