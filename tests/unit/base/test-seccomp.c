/* SPDX-License-Identifier: Apache-2.0 */
#include "base/seccomp.h"

#include <errno.h>
#include <pthread.h>
#include <rdmad/error.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/unit.h"

#define NO_SECCOMP 77
#define YOUNG	   600 /* above the numbers of all kernels */

/* A call of each kind; returns 0 or the errno. */
static int call_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? errno : 0;
}

static int call_setns(void)
{
	return setns(-1, CLONE_NEWNET) < 0 ? errno : 0;
}

static int call_exec(void)
{
	execl("/nonexistent", "nonexistent", NULL);
	return errno;
}

static int call_chroot(void)
{
	return chroot("/nonexistent") < 0 ? errno : 0;
}

static int call_young(void)
{
	return syscall(YOUNG) < 0 ? errno : 0;
}

static void *thread_run(void *data)
{
	return data;
}

/* Calls that the daemon makes all the time. */
static int call_ordinary(void)
{
	int pair[2];
	pthread_t thread;
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		return errno;
	return pthread_create(&thread, NULL, thread_run, NULL) ?: pthread_join(thread, NULL);
}

typedef struct {
	const char *name;
	RdmadSeccomp mode;
	RdmadSeccompProcess process;
	int (*call)(void);
	int errnum; /* -1: the call ends the process */
} Case;

static const Case cases[] = {
	{ "daemon: ptrace", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_DAEMON, call_ptrace, -1 },
	{ "daemon: another program", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_DAEMON, call_exec, -1 },
	{ "daemon: a namespace", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_DAEMON, call_setns, -1 },
	{ "daemon: chroot", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_DAEMON, call_chroot, -1 },
	{ "daemon: what it does", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_DAEMON, call_ordinary, 0 },
	{ "daemon: a young call", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_DAEMON, call_young, ENOSYS },
	{ "programs: they run", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_PROGRAMS, call_exec, ENOENT },
	{ "programs: a namespace is refused", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_PROGRAMS,
	  call_setns, EPERM },
	{ "executor: a namespace", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_EXECUTOR, call_setns,
	  EBADF },
	{ "executor: another program", RDMAD_SECCOMP_ENFORCE, RDMAD_SECCOMP_EXECUTOR, call_exec,
	  -1 },
	{ "log: it goes on", RDMAD_SECCOMP_LOG, RDMAD_SECCOMP_DAEMON, call_exec, ENOENT },
	{ "off: nothing", RDMAD_SECCOMP_OFF, RDMAD_SECCOMP_DAEMON, call_exec, ENOENT },
};

G_NORETURN static void child_run(const Case *c)
{
	g_autoptr(GError) error = NULL;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!rdmad_seccomp_install(c->mode, c->process, &error))
		_exit(g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE) ? NO_SECCOMP
										   : 76);
	_exit(c->call());
}

static void test_case(gconstpointer data)
{
	const Case *c = data;
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		child_run(c);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SECCOMP) {
		g_test_skip("this kernel has no seccomp");
		return;
	}
	if (c->errnum < 0) {
		g_assert_true(WIFSIGNALED(status));
		g_assert_cmpint(WTERMSIG(status), ==, SIGSYS);
	} else {
		g_assert_true(WIFEXITED(status));
		g_assert_cmpint(WEXITSTATUS(status), ==, c->errnum);
	}
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/seccomp/", cases, test_case),
	{ 0 },
};
