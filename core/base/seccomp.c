/* SPDX-License-Identifier: Apache-2.0 */
#include "base/seccomp.h"

#include <errno.h>
#include <rdmad/error.h>
#include <seccomp.h>

#define NUMBER_LAST 700 /* far beyond the newest call */

/* Names unknown to this libseccomp or architecture are skipped. */
typedef struct {
	guint processes;   /* 1 << RdmadSeccompProcess */
	gboolean refused;  /* fails with EPERM instead of ending the process */
	const char *calls; /* blank separated */
} Rule;

#define ALL                                                                                        \
	(1u << RDMAD_SECCOMP_DAEMON | 1u << RDMAD_SECCOMP_PROGRAMS | 1u << RDMAD_SECCOMP_EXECUTOR)
#define PROGRAMS (1u << RDMAD_SECCOMP_PROGRAMS)
#define EXECUTOR (1u << RDMAD_SECCOMP_EXECUTOR)

static const Rule rules[] = {
	/* Descriptors. */
	{ ALL, FALSE,
	  "read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek close "
	  "close_range dup dup2 dup3 fcntl ioctl pipe pipe2 flock memfd_create" },
	{ ALL, FALSE,
	  "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
	  "epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime "
	  "timerfd_gettime inotify_init inotify_init1 inotify_add_watch inotify_rm_watch" },
	/* Files.  SQLite calls fchown() even without permission. */
	{ ALL, FALSE,
	  "open openat openat2 creat access faccessat faccessat2 stat lstat fstat newfstatat statx "
	  "statfs fstatfs getcwd getdents getdents64 readlink readlinkat umask" },
	{ ALL, FALSE,
	  "chmod fchmod fchmodat fchmodat2 fchown fallocate fadvise64 fsync fdatasync ftruncate "
	  "truncate link linkat symlink symlinkat mkdir mkdirat mknod mknodat rename renameat "
	  "renameat2 rmdir unlink unlinkat utimensat copy_file_range sendfile splice "
	  "sync_file_range syncfs" },
	/* Sockets.  RDMA device files need only open(), mmap() and ioctl(). */
	{ ALL, FALSE,
	  "socket socketpair bind listen accept accept4 connect getsockname getpeername getsockopt "
	  "setsockopt shutdown sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg" },
	/* Memory. */
	{ ALL, FALSE,
	  "brk mmap munmap mprotect mremap madvise mincore msync mlock mlock2 munlock membarrier" },
	/* Threads, children and this process. */
	{ ALL, FALSE,
	  "clone clone3 fork vfork futex futex_waitv set_robust_list get_robust_list rseq "
	  "set_tid_address arch_prctl prctl exit exit_group wait4 waitid pidfd_open "
	  "pidfd_send_signal kill tkill tgkill setpgid getpgid getpgrp getsid getpid getppid "
	  "gettid "
	  "getuid geteuid getgid getegid getgroups getresuid getresgid capget" },
	{ ALL, FALSE,
	  "sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler "
	  "sched_get_priority_max sched_get_priority_min getpriority getrlimit setrlimit prlimit64 "
	  "getrusage sysinfo uname getcpu getrandom times" },
	/* Signals and time. */
	{ ALL, FALSE,
	  "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait "
	  "rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack pause restart_syscall" },
	{ ALL, FALSE,
	  "time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer "
	  "setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete" },
	/* An unattached sysfs of the entered namespace. */
	{ EXECUTOR, FALSE, "setns fsopen fsconfig fsmount" },
	/* Plugins: calls of programs in any language, and calls that fail without capabilities
	 * anyway. */
	{ PROGRAMS, FALSE,
	  "execve execveat chdir fchdir setsid getxattr lgetxattr fgetxattr listxattr llistxattr "
	  "flistxattr get_mempolicy ioprio_get readahead tee vmsplice utime utimes futimesat "
	  "sched_setscheduler sched_setparam setpriority sched_getattr munlockall mlockall "
	  "process_madvise shmget shmat shmctl shmdt semget semop semctl getitimer" },
	{ PROGRAMS, TRUE,
	  "setns unshare mount umount2 chroot pivot_root chown lchown fchownat setuid setgid "
	  "setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset ptrace seccomp "
	  "bpf perf_event_open keyctl add_key request_key personality io_uring_setup userfaultfd "
	  "syslog sethostname setxattr lsetxattr fsetxattr sched_setattr set_mempolicy mbind "
	  "ioprio_set name_to_handle_at open_by_handle_at landlock_create_ruleset" },
};

const char *const rdmad_seccomp_names[] = { "enforce", "log", "off", NULL };

RdmadSeccomp rdmad_seccomp_default(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return RDMAD_SECCOMP_OFF;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return RDMAD_SECCOMP_OFF;
#else
	return RDMAD_SECCOMP_ENFORCE;
#endif
#else
	return RDMAD_SECCOMP_ENFORCE;
#endif
}

/* Returns 0 or a negative errno, like libseccomp. */
static int rule_add(scmp_filter_ctx filter, const Rule *rule)
{
	const guint32 action = rule->refused ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW;
	g_auto(GStrv) names = g_strsplit(rule->calls, " ", -1);
	int r = 0;

	for (guint i = 0; names[i] && r == 0; i++) {
		const int number = seccomp_syscall_resolve_name(names[i]);

		if (number >= 0)
			r = seccomp_rule_add(filter, action, number, 0);
	}
	return r;
}

static int unknown_calls_add(scmp_filter_ctx filter)
{
	int r = 0;

	for (int number = 0; number <= NUMBER_LAST && r == 0; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

		if (!name)
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
		free(name);
	}
	return r;
}

static int filter_make(scmp_filter_ctx filter, RdmadSeccompProcess process)
{
	/* 2: a binary tree instead of a list, for calls that the kernel's cache does not decide. */
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);

	for (guint i = 0; i < G_N_ELEMENTS(rules) && r == 0; i++)
		if (rules[i].processes & 1u << process)
			r = rule_add(filter, &rules[i]);
	return r ?: unknown_calls_add(filter);
}

gboolean rdmad_seccomp_install(RdmadSeccomp mode, RdmadSeccompProcess process, GError **error)
{
	scmp_filter_ctx filter;
	int r;

	if (mode == RDMAD_SECCOMP_OFF)
		return TRUE;
	filter = seccomp_init(mode == RDMAD_SECCOMP_LOG ? SCMP_ACT_LOG : SCMP_ACT_KILL_PROCESS);
	if (!filter) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
				    "cannot filter system calls: the kernel has no seccomp(2), or "
				    "a filter of the service manager refuses it");
		return FALSE;
	}
	r = filter_make(filter, process);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	if (r == 0)
		return TRUE;
	rdmad_error_errno(error, -r, "cannot filter system calls");
	if (error && (r == -EINVAL || r == -ENOSYS))
		(*error)->code = RDMAD_ERROR_UNAVAILABLE;
	return FALSE;
}
