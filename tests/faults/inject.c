/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault injector: an LD_PRELOAD library that intercepts the libc calls of a process
 *
 * RDMAD_FAULTS names a file of sizeof(Page) zero bytes, which a driver shares with the process
 * (injector.py).  The driver selects functions by their bits, arms the page, and reads it
 * afterwards.  Calls are counted only while the page is armed.  A fault is injected into the
 * selected calls from `first` to `last`: the process is killed before the call, or the call
 * fails without being made.  A power failure also discards the writes to files that were not
 * synced.
 *
 * With `which` THE_EXECUTOR the process is the one that the keeper forks, not the daemon that
 * starts the keeper: the daemon's execve() of the keeper passes the library on.
 *
 * Calls that libc makes itself (in dlopen(), malloc()) are not intercepted.
 */
#undef _FILE_OFFSET_BITS /* declare both open() and open64() */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unsynced.h"

/* Variants of one function count as one.  `CHANGES`: the call changes a file, a socket or the
 * kernel. */
#define FUNCTIONS(CHANGES, LOOKS)                                                                  \
	LOOKS(access)                                                                              \
	CHANGES(accept)                                                                            \
	CHANGES(bind)                                                                              \
	CHANGES(chmod)                                                                             \
	CHANGES(chown)                                                                             \
	CHANGES(close)                                                                             \
	CHANGES(connect)                                                                           \
	CHANGES(create) /* open() that creates or truncates a file */                              \
	CHANGES(dup)                                                                               \
	CHANGES(epoll_create)                                                                      \
	CHANGES(epoll_ctl)                                                                         \
	LOOKS(epoll_wait)                                                                          \
	CHANGES(eventfd)                                                                           \
	CHANGES(fallocate)                                                                         \
	LOOKS(fcntl)                                                                               \
	CHANGES(fsync)                                                                             \
	LOOKS(getrandom)                                                                           \
	LOOKS(getsockname)                                                                         \
	LOOKS(getsockopt)                                                                          \
	CHANGES(inotify_add_watch)                                                                 \
	CHANGES(inotify_init)                                                                      \
	CHANGES(inotify_rm_watch)                                                                  \
	LOOKS(ioctl)                                                                               \
	CHANGES(link)                                                                              \
	CHANGES(listen)                                                                            \
	CHANGES(lock) /* flock(), and fcntl() of locks */                                          \
	LOOKS(lseek)                                                                               \
	CHANGES(mkdir)                                                                             \
	CHANGES(mmap)                                                                              \
	LOOKS(open)                                                                                \
	LOOKS(opendir)                                                                             \
	LOOKS(pidfd)                                                                               \
	CHANGES(pipe)                                                                              \
	LOOKS(poll)                                                                                \
	CHANGES(pthread_create)                                                                    \
	LOOKS(read)                                                                                \
	LOOKS(readdir)                                                                             \
	LOOKS(readlink)                                                                            \
	LOOKS(recv)                                                                                \
	CHANGES(rename)                                                                            \
	CHANGES(rmdir)                                                                             \
	CHANGES(send)                                                                              \
	CHANGES(setns)                                                                             \
	CHANGES(setsockopt)                                                                        \
	CHANGES(socket)                                                                            \
	LOOKS(stat)                                                                                \
	LOOKS(statfs)                                                                              \
	CHANGES(syscall) /* by number */                                                           \
	CHANGES(timerfd)                                                                           \
	CHANGES(truncate)                                                                          \
	CHANGES(unlink)                                                                            \
	LOOKS(wait)                                                                                \
	CHANGES(write)

#define NUMBER(name) FUNCTION_##name,

typedef enum { FUNCTIONS(NUMBER, NUMBER) N_FUNCTIONS } Function;

#define MAX_FUNCTIONS 64
#define KEEPER	      "RDMAD_FAULTS_KEEPER" /* set in the environment of the keeper */

_Static_assert(N_FUNCTIONS <= MAX_FUNCTIONS, "a bit for each");

typedef enum {
	END_NONE, /* the call fails */
	END_KILL, /* SIGKILL */
	END_POWER_FAILURE,
} End;

typedef enum { THE_DAEMON, THE_EXECUTOR } Which;

/* The layout is repeated in injector.py. */
typedef struct {
	_Atomic uint32_t armed, pid;
	uint32_t end; /* End */
	uint32_t error;
	uint32_t which; /* Which */
	uint32_t unused;
	uint64_t chosen;      /* a bit for each function */
	uint64_t first, last; /* the selected calls with a fault, counted from 1 */
	uint64_t changes;     /* a bit for each function of CHANGES */
	_Atomic uint64_t calls;
	_Atomic uint64_t injected;
	_Atomic uint64_t counts[MAX_FUNCTIONS];
	char names[MAX_FUNCTIONS][24];
	char stack[2048]; /* of the first fault: object+0xoffset, the innermost first */
} Page;

static Page *page;		 /* NULL: no faults */
static Page *mapped;		 /* the page, also where `page` is NULL */
static __thread int is_injector; /* the call is made by the injector itself */

/* ---- the page ---- */

static void page_describe(Page *new)
{
#define DESCRIBE_CHANGES(name)                                                                     \
	strcpy(new->names[FUNCTION_##name], #name);                                                \
	new->changes |= UINT64_C(1) << FUNCTION_##name;
#define DESCRIBE_LOOKS(name) strcpy(new->names[FUNCTION_##name], #name);
	FUNCTIONS(DESCRIBE_CHANGES, DESCRIBE_LOOKS)
}

/* Runs in each executor that the keeper forks. */
static void page_take_child(void)
{
	page = mapped;
	atomic_store(&page->pid, (uint32_t)getpid());
}

__attribute__((constructor)) static void page_map(void)
{
	const char *path = getenv("RDMAD_FAULTS");
	const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	Page *new = fd < 0 ? MAP_FAILED
			   : mmap(NULL, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint32_t none = 0;

	if (fd >= 0)
		close(fd);
	if (new == MAP_FAILED) {
		fprintf(stderr, "inject: no page %s\n", path ? path : "in RDMAD_FAULTS");
		_exit(99);
	}
	page_describe(new);
	mapped = new;
	/* Only the first process with the page gets faults, not its children. */
	if (new->which == THE_DAEMON &&
	    atomic_compare_exchange_strong(&new->pid, &none, (uint32_t)getpid()))
		page = new;
	if (new->which == THE_EXECUTOR && getenv(KEEPER))
		pthread_atfork(NULL, NULL, page_take_child);
}

static void page_add_stack(void)
{
	void *frames[32];
	const int n = backtrace(frames, 32);
	size_t used = 0;

	for (int i = 2; i < n && used < sizeof(page->stack); i++) {
		Dl_info info;

		if (!dladdr(frames[i], &info) || !info.dli_fname)
			continue;
		used += (size_t)snprintf(page->stack + used, sizeof(page->stack) - used,
					 "%s+0x%zx ", info.dli_fname,
					 (size_t)((char *)frames[i] - (char *)info.dli_fbase - 1));
	}
}

/* ---- before each call ---- */

static void *symbol_find(const char *symbol)
{
	const int before = errno;
	void *found;

	is_injector++;
	found = dlsym(RTLD_NEXT, symbol);
	is_injector--;
	errno = before;
	if (!found)
		abort();
	return found;
}

static void inject_fault(void)
{
	is_injector++;
	if (atomic_fetch_add(&page->injected, 1) == 0)
		page_add_stack();
	if (page->end == END_POWER_FAILURE)
		unsynced_undo();
	if (page->end != END_NONE) {
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	}
	errno = (int)page->error;
	is_injector--;
}

/* Returns non-zero, with errno set, if the call must fail. */
static int call_fails(Function function)
{
	uint64_t number;

	if (is_injector || !page || !atomic_load(&page->armed))
		return 0;
	atomic_fetch_add(&page->counts[function], 1);
	if (!(page->chosen >> function & 1))
		return 0;
	number = atomic_fetch_add(&page->calls, 1) + 1;
	if (number < page->first || number > page->last)
		return 0;
	inject_fault();
	return 1;
}

/* ---- the calls ---- */

#define NEXT(symbol)                                                                               \
	static __typeof__(&(symbol)) next;                                                         \
	if (!next)                                                                                 \
		next = symbol_find(#symbol);

/* Makes a call that is not intercepted. */
#define UNINTERCEPTED(call)                                                                        \
	do {                                                                                       \
		is_injector++;                                                                     \
		call;                                                                              \
		is_injector--;                                                                     \
	} while (0)

#define BEFORE(function, type, failed, symbol, parameters, arguments)                              \
	type symbol parameters                                                                     \
	{                                                                                          \
		NEXT(symbol)                                                                       \
		return call_fails(FUNCTION_##function) ? failed : next arguments;                  \
	}

/* The keeper gets only the variables that it needs; those of the library are added. */
int execve(const char *path, char *const argv[], char *const envp[])
{
	NEXT(execve)
	const char *const more[] = { "LD_PRELOAD", "RDMAD_FAULTS" };
	char *made[16] = { (char *)KEEPER "=1" };
	size_t n = 1;

	if (!mapped || mapped->which != THE_EXECUTOR || !argv[0] || !argv[1] ||
	    strcmp(argv[1], "--executor"))
		return next(path, argv, envp);
	for (size_t i = 0; i < 2; i++)
		if (getenv(more[i]) && asprintf(&made[n], "%s=%s", more[i], getenv(more[i])) > 0)
			n++;
	for (; *envp && n < 15; envp++)
		made[n++] = *envp;
	return next(path, argv, made);
}

BEFORE(access, int, -1, access, (const char *path, int mode), (path, mode))
BEFORE(access, int, -1, faccessat, (int at, const char *path, int mode, int flags),
       (at, path, mode, flags))
BEFORE(accept, int, -1, accept, (int fd, __SOCKADDR_ARG peer, socklen_t *size), (fd, peer, size))
BEFORE(accept, int, -1, accept4, (int fd, __SOCKADDR_ARG peer, socklen_t *size, int flags),
       (fd, peer, size, flags))
BEFORE(bind, int, -1, bind, (int fd, __CONST_SOCKADDR_ARG address, socklen_t size),
       (fd, address, size))
BEFORE(chmod, int, -1, chmod, (const char *path, mode_t mode), (path, mode))
BEFORE(chmod, int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
BEFORE(chmod, int, -1, fchmodat, (int at, const char *path, mode_t mode, int flags),
       (at, path, mode, flags))
BEFORE(chown, int, -1, chown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
BEFORE(chown, int, -1, lchown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
BEFORE(chown, int, -1, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))
BEFORE(chown, int, -1, fchownat, (int at, const char *path, uid_t uid, gid_t gid, int flags),
       (at, path, uid, gid, flags))
BEFORE(connect, int, -1, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t size),
       (fd, address, size))
BEFORE(dup, int, -1, dup, (int fd), (fd))
BEFORE(dup, int, -1, dup2, (int fd, int to), (fd, to))
BEFORE(dup, int, -1, dup3, (int fd, int to, int flags), (fd, to, flags))
BEFORE(epoll_create, int, -1, epoll_create, (int size), (size))
BEFORE(epoll_create, int, -1, epoll_create1, (int flags), (flags))
BEFORE(epoll_ctl, int, -1, epoll_ctl, (int at, int what, int fd, struct epoll_event *event),
       (at, what, fd, event))
BEFORE(epoll_wait, int, -1, epoll_wait, (int at, struct epoll_event *events, int n, int ms),
       (at, events, n, ms))
BEFORE(epoll_wait, int, -1, epoll_pwait2,
       (int at, struct epoll_event *events, int n, const struct timespec *limit,
	const sigset_t *mask),
       (at, events, n, limit, mask))
BEFORE(eventfd, int, -1, eventfd, (unsigned int value, int flags), (value, flags))
BEFORE(fallocate, int, -1, fallocate, (int fd, int mode, off_t at, off_t size),
       (fd, mode, at, size))
BEFORE(fallocate, int, -1, fallocate64, (int fd, int mode, off64_t at, off64_t size),
       (fd, mode, at, size))
BEFORE(fallocate, int, errno, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size))
BEFORE(fallocate, int, errno, posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size))
BEFORE(getrandom, ssize_t, -1, getrandom, (void *to, size_t size, unsigned int flags),
       (to, size, flags))
BEFORE(getsockname, int, -1, getsockname, (int fd, __SOCKADDR_ARG address, socklen_t *size),
       (fd, address, size))
BEFORE(getsockname, int, -1, getpeername, (int fd, __SOCKADDR_ARG address, socklen_t *size),
       (fd, address, size))
BEFORE(getsockopt, int, -1, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
       (fd, level, name, value, size))
BEFORE(inotify_add_watch, int, -1, inotify_add_watch, (int fd, const char *path, uint32_t mask),
       (fd, path, mask))
BEFORE(inotify_init, int, -1, inotify_init1, (int flags), (flags))
BEFORE(inotify_rm_watch, int, -1, inotify_rm_watch, (int fd, int watch), (fd, watch))
BEFORE(link, int, -1, link, (const char *from, const char *to), (from, to))
BEFORE(link, int, -1, linkat, (int at, const char *from, int to_at, const char *to, int flags),
       (at, from, to_at, to, flags))
BEFORE(link, int, -1, symlink, (const char *target, const char *path), (target, path))
BEFORE(link, int, -1, symlinkat, (const char *target, int at, const char *path), (target, at, path))
BEFORE(listen, int, -1, listen, (int fd, int backlog), (fd, backlog))
BEFORE(setns, int, -1, setns, (int fd, int type), (fd, type))
BEFORE(lock, int, -1, flock, (int fd, int how), (fd, how))
BEFORE(lseek, off_t, -1, lseek, (int fd, off_t at, int whence), (fd, at, whence))
BEFORE(lseek, off64_t, -1, lseek64, (int fd, off64_t at, int whence), (fd, at, whence))
BEFORE(mkdir, int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
BEFORE(mkdir, int, -1, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
BEFORE(mmap, void *, MAP_FAILED, mmap,
       (void *where, size_t size, int protection, int flags, int fd, off_t at),
       (where, size, protection, flags, fd, at))
BEFORE(mmap, void *, MAP_FAILED, mmap64,
       (void *where, size_t size, int protection, int flags, int fd, off64_t at),
       (where, size, protection, flags, fd, at))
BEFORE(open, FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
BEFORE(open, FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode))
BEFORE(opendir, DIR *, NULL, opendir, (const char *path), (path))
BEFORE(opendir, DIR *, NULL, fdopendir, (int fd), (fd))
BEFORE(pipe, int, -1, pipe, (int ends[2]), (ends))
BEFORE(pipe, int, -1, pipe2, (int ends[2], int flags), (ends, flags))
BEFORE(pthread_create, int, errno, pthread_create,
       (pthread_t * thread, const pthread_attr_t *how, void *(*body)(void *), void *data),
       (thread, how, body, data))
BEFORE(pidfd, int, -1, pidfd_open, (pid_t pid, unsigned int flags), (pid, flags))
BEFORE(poll, int, -1, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
BEFORE(read, ssize_t, -1, read, (int fd, void *to, size_t size), (fd, to, size))
BEFORE(read, ssize_t, -1, readv, (int fd, const struct iovec *to, int n), (fd, to, n))
BEFORE(read, ssize_t, -1, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
BEFORE(read, ssize_t, -1, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
BEFORE(readdir, struct dirent *, NULL, readdir, (DIR * of), (of))
BEFORE(readdir, struct dirent64 *, NULL, readdir64, (DIR * of), (of))
BEFORE(readlink, ssize_t, -1, readlink, (const char *path, char *to, size_t size), (path, to, size))
BEFORE(readlink, ssize_t, -1, readlinkat, (int at, const char *path, char *to, size_t size),
       (at, path, to, size))
BEFORE(recv, ssize_t, -1, recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
BEFORE(recv, ssize_t, -1, recvfrom,
       (int fd, void *to, size_t size, int flags, __SOCKADDR_ARG from, socklen_t *length),
       (fd, to, size, flags, from, length))
BEFORE(recv, ssize_t, -1, recvmsg, (int fd, struct msghdr *message, int flags),
       (fd, message, flags))
BEFORE(rename, int, -1, rename, (const char *from, const char *to), (from, to))
BEFORE(rename, int, -1, renameat, (int at, const char *from, int to_at, const char *to),
       (at, from, to_at, to))
BEFORE(rename, int, -1, renameat2,
       (int at, const char *from, int to_at, const char *to, unsigned int flags),
       (at, from, to_at, to, flags))
BEFORE(rmdir, int, -1, rmdir, (const char *path), (path))
BEFORE(send, ssize_t, -1, send, (int fd, const void *what, size_t size, int flags),
       (fd, what, size, flags))
BEFORE(send, ssize_t, -1, sendto,
       (int fd, const void *what, size_t size, int flags, __CONST_SOCKADDR_ARG to,
	socklen_t length),
       (fd, what, size, flags, to, length))
BEFORE(send, ssize_t, -1, sendmsg, (int fd, const struct msghdr *message, int flags),
       (fd, message, flags))
BEFORE(send, int, -1, shutdown, (int fd, int how), (fd, how))
BEFORE(setsockopt, int, -1, setsockopt,
       (int fd, int level, int name, const void *value, socklen_t size),
       (fd, level, name, value, size))
BEFORE(socket, int, -1, socket, (int family, int type, int protocol), (family, type, protocol))
BEFORE(socket, int, -1, socketpair, (int family, int type, int protocol, int ends[2]),
       (family, type, protocol, ends))
BEFORE(stat, int, -1, stat, (const char *path, struct stat *st), (path, st))
BEFORE(stat, int, -1, stat64, (const char *path, struct stat64 *st), (path, st))
BEFORE(stat, int, -1, lstat, (const char *path, struct stat *st), (path, st))
BEFORE(stat, int, -1, lstat64, (const char *path, struct stat64 *st), (path, st))
BEFORE(stat, int, -1, fstat, (int fd, struct stat *st), (fd, st))
BEFORE(stat, int, -1, fstat64, (int fd, struct stat64 *st), (fd, st))
BEFORE(stat, int, -1, fstatat, (int at, const char *path, struct stat *st, int flags),
       (at, path, st, flags))
BEFORE(stat, int, -1, fstatat64, (int at, const char *path, struct stat64 *st, int flags),
       (at, path, st, flags))
BEFORE(stat, int, -1, statx,
       (int at, const char *path, int flags, unsigned int mask, struct statx *st),
       (at, path, flags, mask, st))
BEFORE(statfs, int, -1, statfs, (const char *path, struct statfs *st), (path, st))
BEFORE(statfs, int, -1, statfs64, (const char *path, struct statfs64 *st), (path, st))
BEFORE(statfs, int, -1, fstatfs, (int fd, struct statfs *st), (fd, st))
BEFORE(statfs, int, -1, fstatfs64, (int fd, struct statfs64 *st), (fd, st))
BEFORE(timerfd, int, -1, timerfd_create, (clockid_t clock, int flags), (clock, flags))
BEFORE(timerfd, int, -1, timerfd_settime,
       (int fd, int flags, const struct itimerspec *new, struct itimerspec *old),
       (fd, flags, new, old))
BEFORE(truncate, int, -1, truncate, (const char *path, off_t size), (path, size))
BEFORE(truncate, int, -1, truncate64, (const char *path, off64_t size), (path, size))
BEFORE(unlink, int, -1, unlink, (const char *path), (path))
BEFORE(unlink, int, -1, unlinkat, (int at, const char *path, int flags), (at, path, flags))
BEFORE(unlink, int, -1, remove, (const char *path), (path))
BEFORE(wait, pid_t, -1, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
BEFORE(wait, int, -1, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags),
       (type, id, info, flags))
BEFORE(write, ssize_t, -1, write, (int fd, const void *what, size_t size), (fd, what, size))
BEFORE(write, ssize_t, -1, writev, (int fd, const struct iovec *what, int n), (fd, what, n))
BEFORE(write, ssize_t, -1, sendfile, (int to, int from, off_t *at, size_t size),
       (to, from, at, size))

/* Files as SQLite writes them: unsynced writes are recorded, for the power failure. */

#define BEFORE_SYNC(symbol)                                                                        \
	int symbol(int fd)                                                                         \
	{                                                                                          \
		int done;                                                                          \
                                                                                                   \
		NEXT(symbol)                                                                       \
		done = call_fails(FUNCTION_fsync) ? -1 : next(fd);                                 \
		if (done == 0 && page && page->end == END_POWER_FAILURE)                           \
			UNINTERCEPTED(unsynced_drop(fd));                                          \
		return done;                                                                       \
	}

BEFORE_SYNC(fsync)
BEFORE_SYNC(fdatasync)

#define BEFORE_CHANGE(function, type, symbol, parameters, arguments, at, size)                     \
	type symbol parameters                                                                     \
	{                                                                                          \
		NEXT(symbol)                                                                       \
		if (call_fails(FUNCTION_##function))                                               \
			return -1;                                                                 \
		if (page && page->end == END_POWER_FAILURE)                                        \
			UNINTERCEPTED(unsynced_record(fd, at, size));                              \
		return next arguments;                                                             \
	}

BEFORE_CHANGE(write, ssize_t, pwrite, (int fd, const void *what, size_t size, off_t at),
	      (fd, what, size, at), at, size)
BEFORE_CHANGE(write, ssize_t, pwrite64, (int fd, const void *what, size_t size, off64_t at),
	      (fd, what, size, at), at, size)
BEFORE_CHANGE(truncate, int, ftruncate, (int fd, off_t size), (fd, size), size, SIZE_MAX)
BEFORE_CHANGE(truncate, int, ftruncate64, (int fd, off64_t size), (fd, size), size, SIZE_MAX)

/* The kernel closes the descriptor even if close() fails. */
int close(int fd)
{
	NEXT(close)
	if (!call_fails(FUNCTION_close))
		return next(fd);
	next(fd);
	errno = (int)page->error;
	return -1;
}

#define BEFORE_OPEN(symbol, parameters, ...)                                                       \
	int symbol parameters                                                                      \
	{                                                                                          \
		const Function function =                                                          \
			flags & (O_CREAT | O_TRUNC) ? FUNCTION_create : FUNCTION_open;             \
		va_list rest;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		NEXT(symbol)                                                                       \
		va_start(rest, flags);                                                             \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                   \
		va_end(rest);                                                                      \
		return call_fails(function) ? -1 : next(__VA_ARGS__, flags, mode);                 \
	}

BEFORE_OPEN(open, (const char *path, int flags, ...), path)
BEFORE_OPEN(open64, (const char *path, int flags, ...), path)
BEFORE_OPEN(openat, (int at, const char *path, int flags, ...), at, path)
BEFORE_OPEN(openat64, (int at, const char *path, int flags, ...), at, path)

static Function fcntl_function(int what)
{
	switch (what) {
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return FUNCTION_lock;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return FUNCTION_dup;
	default:
		return FUNCTION_fcntl;
	}
}

#define BEFORE_FCNTL(symbol)                                                                       \
	int symbol(int fd, int what, ...)                                                          \
	{                                                                                          \
		va_list rest;                                                                      \
		void *value;                                                                       \
                                                                                                   \
		NEXT(symbol)                                                                       \
		va_start(rest, what);                                                              \
		value = va_arg(rest, void *);                                                      \
		va_end(rest);                                                                      \
		return call_fails(fcntl_function(what)) ? -1 : next(fd, what, value);              \
	}

BEFORE_FCNTL(fcntl)
BEFORE_FCNTL(fcntl64)

int ioctl(int fd, unsigned long what, ...)
{
	va_list rest;
	void *value;

	NEXT(ioctl)
	va_start(rest, what);
	value = va_arg(rest, void *);
	va_end(rest);
	return call_fails(FUNCTION_ioctl) ? -1 : next(fd, what, value);
}

long syscall(long number, ...)
{
	long values[6];
	va_list rest;

	NEXT(syscall)
	va_start(rest, number);
	for (int i = 0; i < 6; i++)
		values[i] = va_arg(rest, long);
	va_end(rest);
	/* GLib's locks use futex(), which must not fail. */
	if (number != SYS_futex && call_fails(FUNCTION_syscall))
		return -1;
	return next(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}
