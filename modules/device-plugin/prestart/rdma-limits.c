/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/rdma-limits.h"

#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#define CGROUPS "sys/fs/cgroup"
#define UID_MAX 64u

static gboolean uid_check(const char *uid, GError **error)
{
	const gsize plain = strspn(uid, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789-");

	if (plain > 0 && plain <= UID_MAX && uid[plain] == '\0')
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "\"%.64s\" is not the uid of a pod",
		    uid);
	return FALSE;
}

/* ---- the pod's cgroup ---- */

static char *cgroupfs_directory(const char *top, const char *class, const char *uid)
{
	return g_strdup_printf(CGROUPS "/%skubepods/%s%spod%s", top, class, *class ? "/" : "", uid);
}

/* The name of a slice contains the names of its parents: a.slice/a-b.slice/a-b-c.slice. */
static char *systemd_directory(const char *top, const char *class, const char *uid)
{
	const char *stem = *top ? "kubelet-kubepods" : "kubepods";
	g_autofree char *escaped = g_strdelimit(g_strdup(uid), "-", '_');
	g_autofree char *middle =
		*class ? g_strdup_printf("%s-%s.slice/", stem, class) : g_strdup("");

	return g_strdup_printf(CGROUPS "/%s%s.slice/%s%s%s%s-pod%s.slice", top, stem, middle, stem,
			       *class ? "-" : "", class, escaped);
}

/* Returns FALSE without an error if there is none. */
static gboolean directory_exists(const RdmadSysroot *root, const char *path, GError **error)
{
	g_autoptr(GError) problem = NULL;
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_PATH | O_DIRECTORY, &problem);

	if (problem && !g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		g_propagate_error(error, g_steal_pointer(&problem));
	return fd >= 0;
}

char *rdma_limits_directory(const RdmadSysroot *root, const char *pod_uid, GError **error)
{
	static const char *const classes[] = { "", "burstable", "besteffort" };

	if (!uid_check(pod_uid, error))
		return NULL;
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++) {
		char *directories[] = {
			systemd_directory("", classes[i], pod_uid),
			cgroupfs_directory("", classes[i], pod_uid),
			systemd_directory("kubelet.slice/", classes[i], pod_uid),
			cgroupfs_directory("kubelet/", classes[i], pod_uid),
		};
		g_autofree char *found = NULL;
		g_autoptr(GError) problem = NULL;

		for (guint k = 0; k < G_N_ELEMENTS(directories); k++)
			if (!found && !problem && directory_exists(root, directories[k], &problem))
				found = directories[k];
			else
				g_free(directories[k]);
		if (found)
			return g_steal_pointer(&found);
		if (problem) {
			g_propagate_error(error, g_steal_pointer(&problem));
			return NULL;
		}
	}
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
		    "no cgroup of pod %s below /" CGROUPS, pod_uid);
	return NULL;
}

/* ---- the controller ---- */

/* Enables the controller from the root down: a cgroup can only pass on what its parent passed to
 * it. */
static gboolean controller_enable(const RdmadSysroot *root, const char *directory, GError **error)
{
	const char *below = directory + strlen(CGROUPS);

	for (; below; below = strchr(below + 1, '/')) {
		g_autofree char *above = g_strndup(directory, (gsize)(below - directory));
		g_autofree char *control = g_strconcat(above, "/cgroup.subtree_control", NULL);

		if (!rdmad_sysroot_write(root, control, "+rdma", error))
			return FALSE;
	}
	return TRUE;
}

static gboolean controller_check(const RdmadSysroot *root, GError **error)
{
	g_autofree char *controllers =
		rdmad_sysroot_read(root, CGROUPS "/cgroup.controllers", NULL);
	g_auto(GStrv) names = g_strsplit(controllers ? controllers : "", " ", -1);

	if (g_strv_contains((const char *const *)names, "rdma"))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
		    "/" CGROUPS " has no rdma controller: it takes cgroup2 and a kernel with "
		    "CONFIG_CGROUP_RDMA");
	return FALSE;
}

/* ---- limits ---- */

static char *limit_text(gint64 limit)
{
	return limit ? g_strdup_printf("%" G_GINT64_FORMAT, limit) : g_strdup("max");
}

char *rdma_limits_line(const char *device, const RdmaLimits *limits)
{
	g_autofree char *handles = limit_text(limits->hca_handle);
	g_autofree char *objects = limit_text(limits->hca_object);

	return g_strdup_printf("%s hca_handle=%s hca_object=%s", device, handles, objects);
}

gboolean rdma_limits_write(const RdmadSysroot *root, const char *pod_uid, char *const *devices,
			   const RdmaLimits *limits, GError **error)
{
	g_autofree char *directory = NULL;
	g_autofree char *file = NULL;

	if (!controller_check(root, error))
		return FALSE;
	directory = rdma_limits_directory(root, pod_uid, error);
	if (!directory)
		return FALSE;
	file = g_strconcat(directory, "/rdma.max", NULL);
	if (!rdmad_sysroot_exists(root, file) && !controller_enable(root, directory, error))
		return FALSE;
	for (guint i = 0; devices[i]; i++) {
		g_autofree char *line = rdma_limits_line(devices[i], limits);

		if (!rdmad_sysroot_write(root, file, line, error))
			return FALSE;
	}
	return TRUE;
}

/* ---- Limit job: a worker writes the limits, because a write to a cgroup may block ---- */

typedef struct {
	const RdmadSysroot *root;
	char *pod_uid;
	char **devices;
	RdmaLimits limits;
} Input;

gpointer limit_job_input(RdmadModule *self, const char *pod_uid, char *const *devices,
			 const RdmaLimits *limits)
{
	Input *input = g_new0(Input, 1);

	input->root = rdmad_module_sysroot(self);
	input->pod_uid = g_strdup(pod_uid);
	input->devices = g_strdupv((char **)devices);
	input->limits = *limits;
	return input;
}

void limit_job_input_free(gpointer data)
{
	Input *input = data;

	g_free(input->pod_uid);
	g_strfreev(input->devices);
	g_free(input);
}

gpointer limit_job_run(gpointer data, const RdmadJob *job, GError **error)
{
	const Input *input = data;

	rdma_limits_write(input->root, input->pod_uid, input->devices, &input->limits, error);
	return NULL;
}
