/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	run_dir/cni-ipam/<pid>: "<start time> <pid namespace> <container id>"
 *
 * A number may be another process's by now.  The plugin is the one that started at that time, in this pid
 * namespace; what it left is in its process group, is younger, and has the container's id in its
 * environment.  Each is checked through a descriptor that stands for it, and gets its signal by that.
 */
#include "ipam/records.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "cni-ipam"
#define END_MS	  2000 /* a killed process that still hangs in the kernel comes back to nothing */
#define ROUNDS	  8    /* processes that fork while they are looked for */
#define TEXT_MAX  512

struct CniIpamRecords {
	char *directory;
};

typedef struct {
	pid_t pid;
	guint64 start, namespace;
	char container_id[256];
} Record;

/* ---- processes ---- */

typedef struct {
	pid_t group;
	guint64 start; /* clock ticks since the boot */
} Process;

/* proc(5): the name, in brackets, may have anything in it. */
static gboolean process_read(pid_t pid, Process *process)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
	g_autofree char *text = NULL;
	const char *rest;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return FALSE;
	rest = strrchr(text, ')');
	return rest && sscanf(rest + 1,
			      " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			      "%*d %*d %*d %" G_GUINT64_FORMAT,
			      &process->group, &process->start) == 2;
}

static guint64 own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static gboolean is_for_container(pid_t pid, const char *container_id)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/environ", (int)pid);
	g_autofree char *wanted = g_strconcat("CNI_CONTAINERID=", container_id, NULL);
	g_autofree char *block = NULL;
	gsize size = 0;

	if (!g_file_get_contents(path, &block, &size, NULL))
		return FALSE;
	for (gsize at = 0; at < size; at += strlen(block + at) + 1)
		if (g_str_equal(block + at, wanted))
			return TRUE;
	return FALSE;
}

static gboolean is_of_record(const Record *record, pid_t pid)
{
	Process process;

	if (!process_read(pid, &process))
		return FALSE;
	if (pid == record->pid)
		return process.start == record->start;
	return process.group == record->pid && process.start >= record->start &&
	       is_for_container(pid, record->container_id);
}

/* TRUE: one was there. */
static gboolean process_end(const Record *record, pid_t pid)
{
	rdmad_autofd int fd = pidfd_open(pid, 0);
	struct pollfd end = { fd, POLLIN, 0 };

	if (fd < 0 || !is_of_record(record, pid))
		return FALSE;
	rdmad_info("process %d of an IPAM plugin of container %.12s is ended", (int)pid,
		   record->container_id);
	pidfd_send_signal(fd, SIGKILL, NULL, 0);
	if (poll(&end, 1, END_MS) == 0)
		rdmad_warn("process %d of an IPAM plugin hangs in the kernel", (int)pid);
	return TRUE;
}

static gboolean processes_end(const Record *record)
{
	g_autoptr(GDir) all = g_dir_open("/proc", 0, NULL);
	gboolean found = FALSE;
	const char *name;

	while (all && (name = g_dir_read_name(all)))
		if (g_ascii_isdigit(name[0]))
			found |= process_end(record, (pid_t)atoi(name));
	return found;
}

/* ---- records ---- */

static char *record_path(const CniIpamRecords *records, pid_t pid)
{
	return g_strdup_printf("%s/%d", records->directory, (int)pid);
}

static gboolean record_read(const CniIpamRecords *records, const char *name, Record *record)
{
	g_autofree char *path = g_build_filename(records->directory, name, NULL);
	g_autofree char *text = NULL;

	record->pid = (pid_t)atoi(name);
	return record->pid > 1 && g_file_get_contents(path, &text, NULL, NULL) &&
	       sscanf(text, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %255s", &record->start,
		      &record->namespace, record->container_id) == 3;
}

/* One that is cut off is of a process that did not run yet. */
static void record_end(const CniIpamRecords *records, const char *name)
{
	g_autofree char *path = g_build_filename(records->directory, name, NULL);
	Record record = { 0 };

	if (record_read(records, name, &record) && record.namespace == own_namespace())
		for (guint i = 0; i < ROUNDS && processes_end(&record); i++)
			;
	unlink(path);
}

CniIpamRecords *cni_ipam_records_open(const char *run_dir, GError **error)
{
	CniIpamRecords *records = g_new0(CniIpamRecords, 1);
	g_autoptr(GDir) all = NULL;
	const char *name;

	records->directory = g_build_filename(run_dir, DIRECTORY, NULL);
	if (mkdir(records->directory, 0700) < 0 && errno != EEXIST)
		rdmad_error_errno(error, errno, "cannot make %s", records->directory);
	else if (!(all = g_dir_open(records->directory, 0, NULL)))
		rdmad_error_errno(error, errno, "cannot open %s", records->directory);
	if (!all) {
		cni_ipam_records_free(records);
		return NULL;
	}
	while ((name = g_dir_read_name(all)))
		record_end(records, name);
	return records;
}

void cni_ipam_records_free(CniIpamRecords *records)
{
	if (!records)
		return;
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

	if (!process_read(pid, &process))
		return rdmad_error_errno(error, errno, "cannot read /proc/%d/stat", (int)pid);
	length = g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %s",
			    process.start, own_namespace(),
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
