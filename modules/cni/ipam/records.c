/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	run_dir/cni-ipam/<pid>: "<start time> <pid namespace> <container id>"
 *
 * The kernel may have reused a PID.  The plugin is the process with this PID, start time and PID
 * namespace; its children are in its process group, are not older, and have the container's ID in
 * their environment.  Each process is checked, awaited and killed through a pidfd.
 */
#include "ipam/records.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmad/clock.h>
#include <rdmad/disk.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/sysroot.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY	"cni-ipam"
#define PATIENCE_MS	2000 /* for all processes to end by themselves */
#define END_MS		2000 /* for a killed process to end */
#define ROUNDS		8    /* bounds the search if processes keep forking */
#define TEXT_MAX	512
#define ENVIRONMENT_MAX (64 * 1024)

struct CniIpamRecords {
	RdmadSysroot *root;
	char *directory, *namespace;
	gint64 patience_us; /* the time until which processes may end by themselves */
};

typedef struct {
	pid_t pid;
	guint64 start;
	char namespace[64], container_id[256];
} Record;

/* ---- processes ---- */

typedef struct {
	pid_t group;
	guint64 start; /* clock ticks since the boot */
} Process;

/* proc(5): the name, in parentheses, may contain any character. */
static gboolean process_read(const RdmadSysroot *root, pid_t pid, Process *process)
{
	g_autofree char *path = g_strdup_printf("proc/%d/stat", (int)pid);
	g_autofree char *text = rdmad_sysroot_read(root, path, NULL);
	const char *rest = text ? strrchr(text, ')') : NULL;

	return rest && sscanf(rest + 1,
			      " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			      "%*d %*d %*d %" G_GUINT64_FORMAT,
			      &process->group, &process->start) == 2;
}

static gboolean is_for_container(const RdmadSysroot *root, pid_t pid, const char *container_id)
{
	g_autofree char *path = g_strdup_printf("proc/%d/environ", (int)pid);
	g_autofree char *wanted = g_strconcat("CNI_CONTAINERID=", container_id, NULL);
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_RDONLY, NULL);
	g_autofree char *block = g_malloc0(ENVIRONMENT_MAX + 1);
	const gssize size = fd >= 0 ? read(fd, block, ENVIRONMENT_MAX) : 0;

	for (gssize at = 0; at < size; at += (gssize)strlen(block + at) + 1)
		if (g_str_equal(block + at, wanted))
			return TRUE;
	return FALSE;
}

static gboolean is_of_record(const RdmadSysroot *root, const Record *record, pid_t pid)
{
	Process process;

	if (!process_read(root, pid, &process))
		return FALSE;
	if (pid == record->pid)
		return process.start == record->start;
	return process.group == record->pid && process.start >= record->start &&
	       is_for_container(root, pid, record->container_id);
}

static gboolean process_ends(int pidfd, gint64 until_us)
{
	struct pollfd end = { pidfd, POLLIN, 0 };
	int n;

	do {
		const gint64 ms = (until_us - rdmad_now_us()) / 1000;

		n = poll(&end, 1, (int)CLAMP(ms, 0, PATIENCE_MS));
	} while (n < 0 && errno == EINTR);
	return n == 1 && end.revents & POLLIN;
}

/* A plugin that is killed may leave a lease without its owner.  Returns TRUE if the process was of
 * the record. */
static gboolean process_end(const CniIpamRecords *records, const Record *record, pid_t pid)
{
	rdmad_autofd int fd = pidfd_open(pid, 0);
	struct pollfd end = { fd, POLLIN, 0 };

	if (fd < 0 || !is_of_record(records->root, record, pid))
		return FALSE;
	if (process_ends(fd, records->patience_us))
		return TRUE;
	rdmad_info("process %d of an IPAM plugin of container %.12s is ended", (int)pid,
		   record->container_id);
	pidfd_send_signal(fd, SIGKILL, NULL, 0);
	if (poll(&end, 1, END_MS) == 0)
		rdmad_warn("process %d of an IPAM plugin hangs in the kernel", (int)pid);
	return TRUE;
}

/* Sets `found` if a process was of the record. */
static gboolean processes_end(const CniIpamRecords *records, const Record *record, gboolean *found,
			      GError **error)
{
	g_auto(GStrv) names = rdmad_sysroot_list(records->root, "proc", error);

	*found = FALSE;
	for (char **name = names; name && *name; name++)
		if (g_ascii_isdigit(**name))
			*found |= process_end(records, record, (pid_t)atoi(*name));
	return names != NULL;
}

/* ---- records ---- */

static char *record_path(const CniIpamRecords *records, pid_t pid)
{
	return g_strdup_printf("%s/%d", records->directory, (int)pid);
}

/* A truncated record, of a process that had not run its program yet, has no namespace. */
static gboolean record_read(const CniIpamRecords *records, const char *name, Record *record,
			    GError **error)
{
	g_autofree char *path = g_build_filename(records->directory, name, NULL);
	g_autofree char *text = NULL;
	g_autoptr(GError) why = NULL;

	*record = (Record){ .pid = (pid_t)atoi(name) };
	if (record->pid <= 1)
		return TRUE;
	if (!g_file_get_contents(path, &text, NULL, &why)) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, why->message);
		return FALSE;
	}
	if (sscanf(text, "%" G_GUINT64_FORMAT " %63s %255s", &record->start, record->namespace,
		   record->container_id) != 3)
		record->namespace[0] = '\0';
	return TRUE;
}

static gboolean record_end(const CniIpamRecords *records, const char *name, GError **error)
{
	g_autofree char *path = g_build_filename(records->directory, name, NULL);
	Record record;
	gboolean found;

	if (!record_read(records, name, &record, error))
		return FALSE;
	found = g_str_equal(record.namespace, records->namespace);
	for (guint i = 0; found && i < ROUNDS; i++)
		if (!processes_end(records, &record, &found, error))
			return FALSE;
	unlink(path);
	return TRUE;
}

static gboolean records_end(const CniIpamRecords *records, GError **error)
{
	g_auto(GStrv) names = rdmad_fd_list(AT_FDCWD, records->directory);

	if (!names)
		return rdmad_error_errno(error, errno, "cannot list %s", records->directory);
	for (char **name = names; *name; name++)
		if (!record_end(records, *name, error))
			return FALSE;
	return TRUE;
}

static gboolean directory_make(const char *directory, GError **error)
{
	return rdmad_disk_mkdir(AT_FDCWD, directory, 0700, RDMAD_DISK_FOR_GOOD) == 0 ||
	       errno == EEXIST || rdmad_error_errno(error, errno, "cannot make %s", directory);
}

CniIpamRecords *cni_ipam_records_open(const char *run_dir, GError **error)
{
	CniIpamRecords *records = g_new0(CniIpamRecords, 1);

	records->directory = g_build_filename(run_dir, DIRECTORY, NULL);
	records->patience_us = rdmad_now_us() + PATIENCE_MS * 1000;
	records->root = rdmad_sysroot_new_live(error);
	records->namespace =
		records->root ? rdmad_sysroot_link_name(records->root, "proc/self/ns/pid", error)
			      : NULL;
	if (records->namespace && directory_make(records->directory, error) &&
	    records_end(records, error))
		return records;
	cni_ipam_records_free(records);
	return NULL;
}

void cni_ipam_records_free(CniIpamRecords *records)
{
	if (!records)
		return;
	rdmad_sysroot_free(records->root);
	g_free(records->namespace);
	g_free(records->directory);
	g_free(records);
}

gboolean cni_ipam_records_add(CniIpamRecords *records, pid_t pid, const char *container_id,
			      GError **error)
{
	g_autofree char *path = record_path(records, pid);
	rdmad_autofd int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[TEXT_MAX];
	Process process;
	int length;

	if (!process_read(records->root, pid, &process))
		return rdmad_error_errno(error, errno, "cannot read the start time of process %d",
					 (int)pid);
	length = g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT " %s %s", process.start,
			    records->namespace,
			    container_id && container_id[0] ? container_id : "-");
	if (fd >= 0 && write(fd, text, (gsize)length) == length)
		return TRUE;
	rdmad_error_errno(error, errno, "cannot write %s", path);
	unlink(path);
	return FALSE;
}

void cni_ipam_records_remove(CniIpamRecords *records, pid_t pid)
{
	g_autofree char *path = record_path(records, pid);

	unlink(path);
}
