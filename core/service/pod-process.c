/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/pod-process.h>

#include <rdmad/cgroup-pod.h>
#include <rdmad/error.h>
#include <rdmad/pod-log-directory.h>
#include <rdmad/sysroot.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/cgroup-tree.h"
#include "hardware/sysroot.h"

#define DEPTH	       3 /* levels of cgroups below the pod's */
#define PROCESSES_MAX  4096u
#define STAT_STARTTIME 20u /* fields of /proc/PID/stat after the name in parentheses */

typedef struct {
	const RdmadSysroot *root;
	guint seen;
	int pid; /* the oldest process; 0: none */
	guint64 started;
} Search;

/* Gets starttime of proc_pid_stat(5).  Returns FALSE if the process has ended. */
static gboolean process_started(const RdmadSysroot *root, int pid, guint64 *started)
{
	g_autofree char *path = g_strdup_printf("proc/%d/stat", pid);
	g_autofree char *text = rdmad_sysroot_read(root, path, NULL);
	const char *rest = text ? strrchr(text, ')') : NULL;

	for (guint i = 0; rest && i < STAT_STARTTIME; i++)
		rest = strchr(rest + 1, ' ');
	if (!rest)
		return FALSE;
	*started = g_ascii_strtoull(rest, NULL, 10);
	return TRUE;
}

static void search_take(Search *search, int pid)
{
	guint64 started;

	/* The kernel shows 0 for a process outside of rdmad's PID namespace. */
	if (pid <= 0 || search->seen++ >= PROCESSES_MAX ||
	    !process_started(search->root, pid, &started))
		return;
	if (search->pid && search->started <= started)
		return;
	search->pid = pid;
	search->started = started;
}

static void search_procs(Search *search, const char *cgroup)
{
	g_autofree char *path = g_build_filename(cgroup, "cgroup.procs", NULL);
	g_autofree char *text = rdmad_sysroot_read(search->root, path, NULL);
	g_auto(GStrv) lines = text ? g_strsplit(text, "\n", -1) : NULL;

	for (guint i = 0; lines && lines[i]; i++)
		search_take(search, atoi(lines[i]));
}

/* Excludes attributes and files of controllers. */
static gboolean may_be_cgroup(const char *name)
{
	return !strchr(name, '.') || g_str_has_suffix(name, ".scope") ||
	       g_str_has_suffix(name, ".slice") || g_str_has_suffix(name, ".service");
}

static void search_below(Search *search, const char *cgroup, guint depth)
{
	g_auto(GStrv) names = rdmad_sysroot_list(search->root, cgroup, NULL);

	search_procs(search, cgroup);
	for (guint i = 0; depth > 0 && names && names[i]; i++) {
		g_autofree char *below = g_build_filename(cgroup, names[i], NULL);

		if (may_be_cgroup(names[i]))
			search_below(search, below, depth - 1);
	}
}

static gboolean not_found(GError **error, RdmadError code, const char *pod_namespace,
			  const char *pod_name, const char *why)
{
	g_set_error(error, RDMAD_ERROR, code, "%s/%s: %s", pod_namespace, pod_name, why);
	return FALSE;
}

/* Of several log directories, all but one belong to earlier pods with this name. */
gboolean rdmad_pod_process_find(const RdmadSysroot *root, const char *pod_namespace,
				const char *pod_name, RdmadPodProcess *process, GError **error)
{
	g_auto(GStrv) names = rdmad_sysroot_list(root, RDMAD_POD_LOGS, NULL);
	g_autoptr(RdmadCgroupTree) tree = rdmad_cgroup_tree_scan(root);

	*process = (RdmadPodProcess){ 0 };
	if (!names || !tree->parents->len)
		return not_found(error, RDMAD_ERROR_UNAVAILABLE, pod_namespace, pod_name,
				 names ? "no cgroups of pods can be seen"
				       : "/" RDMAD_POD_LOGS " cannot be read");
	for (guint i = 0; names[i]; i++) {
		g_auto(RdmadPodLogDirectory) directory = { 0 };
		Search search = { .root = root };
		const char *path;

		if (!rdmad_pod_log_directory_parse(names[i], &directory) ||
		    !g_str_equal(directory.pod_namespace, pod_namespace) ||
		    !g_str_equal(directory.pod_name, pod_name))
			continue;
		path = g_hash_table_lookup(tree->pods, directory.uid);
		if (path)
			search_below(&search, path, DEPTH);
		if (search.pid && process->pid)
			return not_found(error, RDMAD_ERROR_BUSY, pod_namespace, pod_name,
					 "two pods of that name have processes");
		if (search.pid) {
			process->pid = search.pid;
			g_strlcpy(process->uid, directory.uid, sizeof(process->uid));
		}
	}
	return process->pid ||
	       not_found(error, RDMAD_ERROR_NOT_FOUND, pod_namespace, pod_name, "no process");
}

gboolean rdmad_pod_process_is(const RdmadSysroot *root, const RdmadPodProcess *process)
{
	g_autofree char *path = g_strdup_printf("proc/%d/cgroup", process->pid);
	g_autofree char *text = rdmad_sysroot_read(root, path, NULL);
	RdmadCgroupPod pod;

	return text && rdmad_cgroup_pod_parse(text, &pod) && g_str_equal(pod.uid, process->uid);
}

gboolean rdmad_pod_process_precedes(const RdmadSysroot *root, int pid)
{
	g_autoptr(RdmadCgroupTree) tree = NULL;
	Search search = { .root = root };
	GHashTableIter iter;
	gpointer path;
	guint64 started;
	gboolean is_seen;

	rdmad_sysroot_passing_error();
	tree = rdmad_cgroup_tree_scan(root);
	g_hash_table_iter_init(&iter, tree->pods);
	while (g_hash_table_iter_next(&iter, NULL, &path))
		search_below(&search, path, DEPTH);
	is_seen = process_started(root, pid, &started);
	return rdmad_sysroot_passing_error() ||
	       (is_seen && search.pid && search.started <= started);
}
