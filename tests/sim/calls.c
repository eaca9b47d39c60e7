/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of libc by which rdmad, and SQLite in it, change something outside the process
 *
 * Each is an effect: a life of rdmad may end before it (life.h).  The call then does nothing and
 * succeeds, because nothing that follows is visible any more.  The disk may make it fail, and
 * records it.  Calls by other parts of the simulator are no effects.
 */
#undef _FILE_OFFSET_BITS /* both open() and open64() are defined here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "disk.h"
#include "files.h"
#include "kubelet.h"
#include "life.h"
#include "machine.h"
#include "plants.h"
#include "sockets.h"
#include "turns.h"

#define PID	4711
#define CPUS	2
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define MEMORY	"/proc/self/statm"

/* Returns "" for a descriptor that does not belong to the world. */
static const char *path_of_fd(int fd, char *path)
{
	return files_path(fd, path, PATH_MAX);
}

static const char *path_at(int dir, const char *name, char *path)
{
	gsize length = 0, n;

	if (*name != '/' && dir != AT_FDCWD) {
		length = strlen(files_path(dir, path, PATH_MAX - 1));
		path[length++] = '/';
	}
	n = MIN(strlen(name), PATH_MAX - 1 - length);
	memcpy(path + length, name, n);
	path[length + n] = '\0';
	return path;
}

/* The handling of a call that changes a file of the world. */
typedef enum { DO_IT, PRETEND, REFUSE } Verdict;

static Verdict judge_change(const char *path, gboolean is_sync)
{
	const int errnum = disk_refuses(path, is_sync);

	if (!life_effect())
		return PRETEND;
	if (errnum)
		errno = errnum;
	return errnum ? REFUSE : DO_IT;
}

/* Returns TRUE if the call must return `result` without an effect. */
static gboolean is_over(Verdict verdict, ssize_t pretended, ssize_t *result)
{
	*result = verdict == REFUSE ? -1 : pretended;
	return verdict != DO_IT;
}

/* ---- files ---- */

static int open_made(int dir, const char *name, int flags, mode_t mode)
{
	char path[PATH_MAX];
	const gboolean is_new = !files_exists(dir, name);
	int fd;

	path_at(dir, name, path);
	if (is_new || flags & O_TRUNC)
		switch (judge_change(path, FALSE)) {
		case REFUSE:
			return -1;
		case PRETEND:
			return files_make_nameless("nothing");
		case DO_IT:
			break;
		}
	fd = files_openat(dir, name, flags, mode);
	if (fd >= 0 && is_new)
		disk_made(path, FALSE);
	else if (fd >= 0 && flags & O_TRUNC)
		disk_truncated(path, 0);
	return fd;
}

static int open_any(int dir, const char *name, int flags, mode_t mode)
{
	if (g_str_equal(name, BOOT_ID))
		name = machine_boot_id();
	/* The memory of this process is that of the world too; rdmad keeps the file open until it
	 * ends. */
	if (g_str_equal(name, MEMORY))
		return descriptor_fail(ENOENT);
	if (turns_in_rdmad() && disk_refuses_open())
		return descriptor_fail(disk_refuses_open());
	if (turns_in_rdmad() && flags & (O_CREAT | O_TRUNC))
		return open_made(dir, name, flags, mode);
	return files_openat(dir, name, flags, mode);
}

#define OPEN(function, dir, ...)                                                                   \
	int function(__VA_ARGS__, int flags, ...)                                                  \
	{                                                                                          \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                   \
		va_end(args);                                                                      \
		return open_any(dir, name, flags, mode);                                           \
	}

OPEN(open, AT_FDCWD, const char *name)
OPEN(open64, AT_FDCWD, const char *name)
OPEN(openat, dir, int dir, const char *name)
OPEN(openat64, dir, int dir, const char *name)

/* Returns TRUE with errno if the read must fail. */
static gboolean read_fails(int fd)
{
	char path[PATH_MAX];

	if (!turns_in_rdmad() || !disk_reads_may_fail())
		return FALSE;
	errno = disk_refuses_read(path_of_fd(fd, path));
	return errno != 0;
}

ssize_t read(int fd, void *bytes, size_t size)
{
	return read_fails(fd) ? -1 : files_read(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
	return read_fails(fd) ? -1 : files_pread(fd, bytes, size, at);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at)
{
	return pread(fd, bytes, size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	char path[PATH_MAX];
	ssize_t n;

	if (!turns_in_rdmad() || !files_has(fd))
		return files_pwrite(fd, bytes, size, at);
	if (is_over(judge_change(path_of_fd(fd, path), FALSE), (ssize_t)size, &n))
		return n;
	n = files_pwrite(fd, bytes, size, at);
	if (n > 0)
		disk_wrote(path, bytes, (gsize)n, at);
	return n;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	off_t at;
	ssize_t n;

	if (!turns_in_rdmad() || !files_has(fd))
		return files_write(fd, bytes, size);
	at = files_seek(fd, 0, files_flags(fd) & O_APPEND ? SEEK_END : SEEK_CUR);
	n = pwrite(fd, bytes, size, at);
	if (n > 0)
		files_seek(fd, at + n, SEEK_SET);
	return n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
	return pwrite(fd, bytes, size, at);
}

int ftruncate(int fd, off_t size)
{
	char path[PATH_MAX];
	ssize_t result;

	if (!turns_in_rdmad())
		return files_truncate(fd, size);
	if (is_over(judge_change(path_of_fd(fd, path), FALSE), 0, &result))
		return (int)result;
	result = files_truncate(fd, size);
	if (result == 0)
		disk_truncated(path, size);
	return (int)result;
}

int ftruncate64(int fd, off64_t size)
{
	return ftruncate(fd, size);
}

int fsync(int fd)
{
	char path[PATH_MAX];
	ssize_t result;

	if (!turns_in_rdmad())
		return 0;
	if (is_over(judge_change(path_of_fd(fd, path), TRUE), 0, &result)) {
		if (result < 0)
			disk_synced(path, TRUE);
		return (int)result;
	}
	if (!plant_skips_sync(path))
		disk_synced(path, FALSE);
	return 0;
}

int fdatasync(int fd)
{
	return fsync(fd);
}

/* ---- names ---- */

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	char before[PATH_MAX], after[PATH_MAX];
	ssize_t result;

	if (!turns_in_rdmad())
		return files_rename(from_dir, from, to_dir, to, flags);
	path_at(from_dir, from, before);
	if (is_over(judge_change(path_at(to_dir, to, after), FALSE), 0, &result))
		return (int)result;
	result = files_rename(from_dir, from, to_dir, to, flags);
	if (result == 0)
		disk_renamed(before, after);
	return (int)result;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return renameat2(from_dir, from, to_dir, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int dir, const char *name, int flags)
{
	char path[PATH_MAX];
	int result;

	if (turns_in_rdmad() && !life_effect())
		return 0;
	result = files_unlink(dir, name, flags);
	if (result == 0 && turns_in_rdmad())
		disk_removed(path_at(dir, name, path));
	return result;
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	char path[PATH_MAX];
	ssize_t result;

	if (!turns_in_rdmad())
		return files_mkdir(dir, name, mode);
	if (files_exists(dir, name))
		return descriptor_fail(EEXIST);
	if (is_over(judge_change(path_at(dir, name, path), FALSE), 0, &result))
		return (int)result;
	result = files_mkdir(dir, name, mode);
	if (result == 0)
		disk_made(path, TRUE);
	return (int)result;
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

/* ---- sockets ---- */

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
	if (turns_in_rdmad() && !life_effect())
		return 0;
	return files_bind(fd, address, size);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	return files_connect(fd, address, size);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	if (!sockets_has(fd))
		return (int)syscall(SYS_accept4, fd, address, size, flags);
	if (address)
		getsockname(fd, address, size);
	return sockets_accept(fd, flags);
}

int shutdown(int fd, int how)
{
	if (turns_in_rdmad() && !life_effect())
		return 0;
	return sockets_has(fd) ? sockets_shutdown(fd, how) : (int)syscall(SYS_shutdown, fd, how);
}

/* All of the world is one process of root; rdmad asks only for kubelet's. */
static struct ucred peer_of(void)
{
	return (struct ucred){ .pid = turns_in_rdmad() ? (pid_t)kubelet_pid() : PID };
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	if (!sockets_has(fd))
		return (int)syscall(SYS_getsockopt, fd, level, option, value, size);
	if (level != SOL_SOCKET || option != SO_PEERCRED)
		return descriptor_fail(ENOPROTOOPT);
	*(struct ucred *)value = peer_of();
	return 0;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return sockets_has(fd) ? sockets_receive(fd, message, flags)
			       : syscall(SYS_recvmsg, fd, message, flags);
}

ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
	struct iovec part = { bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return recvmsg(fd, &message, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t size = 0;

	if (!turns_in_rdmad() || life_effect())
		return sockets_has(fd) ? sockets_send(fd, message)
				       : syscall(SYS_sendmsg, fd, message, flags);
	for (size_t i = 0; i < message->msg_iovlen; i++)
		size += (ssize_t)message->msg_iov[i].iov_len;
	return size;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	struct iovec part = { (void *)bytes, size };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(fd, &message, flags);
}

/* ---- values that differ between processes ---- */

ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
	for (size_t i = 0; i < size; i++)
		((guint8 *)bytes)[i] = (guint8)g_random_int();
	return (ssize_t)size;
}

/* The parts of a scan depend on the number of CPUs, and so would the run of a seed. */
long sysconf(int name)
{
	static long (*real)(int name);

	if (name == _SC_NPROCESSORS_ONLN)
		return CPUS;
	if (!real)
		real = dlsym(RTLD_NEXT, "sysconf");
	return real(name);
}

pid_t getpid(void)
{
	return PID;
}
