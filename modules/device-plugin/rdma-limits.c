/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma-limits.h"

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
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "\"%.64s\" is no uid of a pod", uid);
	return FALSE;
}

/* ---- where a pod is ---- */

static char *cgroupfs_folder(const char *top, const char *class, const char *uid)
{
	return g_strdup_printf(CGROUPS "/%skubepods/%s%spod%s", top, class, *class ? "/" : "", uid);
}

/* A slice repeats the names of those above it: a.slice/a-b.slice/a-b-c.slice. */
static char *systemd_folder(const char *top, const char *class, const char *uid)
{
	const char *stem = *top ? "kubelet-kubepods" : "kubepods";
	g_autofree char *escaped = g_strdelimit(g_strdup(uid), "-", '_');
	g_autofree char *middle =
		*class ? g_strdup_printf("%s-%s.slice/", stem, class) : g_strdup("");

	return g_strdup_printf(CGROUPS "/%s%s.slice/%s%s%s%s-pod%s.slice", top, stem, middle, stem,
			       *class ? "-" : "", class, escaped);
}

/* FALSE without an error: there is none. */
static gboolean folder_exists(const RdmadSysroot *root, const char *path, GError **error)
{
	g_autoptr(GError) problem = NULL;
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_PATH | O_DIRECTORY, &problem);

	if (problem && !g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		g_propagate_error(error, g_steal_pointer(&problem));
	return fd >= 0;
}

char *rdmad_rdma_limits_folder(const RdmadSysroot *root, const char *pod_uid, GError **error)
{
	static const char *const classes[] = { "", "burstable", "besteffort" };

	if (!uid_check(pod_uid, error))
		return NULL;
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++) {
		char *folders[] = {
			systemd_folder("", classes[i], pod_uid),
			cgroupfs_folder("", classes[i], pod_uid),
			systemd_folder("kubelet.slice/", classes[i], pod_uid),
			cgroupfs_folder("kubelet/", classes[i], pod_uid),
		};
		g_autofree char *found = NULL;
		g_autoptr(GError) problem = NULL;

		for (guint k = 0; k < G_N_ELEMENTS(folders); k++)
			if (!found && !problem && folder_exists(root, folders[k], &problem))
				found = folders[k];
			else
				g_free(folders[k]);
		if (found)
			return g_steal_pointer(&found);
		if (problem) {
			g_propagate_error(error, g_steal_pointer(&problem));
			return NULL;
		}
	}
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
		    "there is no cgroup of pod %s below /" CGROUPS, pod_uid);
	return NULL;
}

/* ---- the controller ---- */

/* From the root down, for a cgroup may hand down only what it was handed. */
static gboolean controller_hand_down(const RdmadSysroot *root, const char *folder, GError **error)
{
	const char *below = folder + strlen(CGROUPS);

	for (; below; below = strchr(below + 1, '/')) {
		g_autofree char *above = g_strndup(folder, (gsize)(below - folder));
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

char *rdmad_rdma_limits_line(const char *device, const RdmadRdmaLimits *limits)
{
	g_autofree char *handles = limit_text(limits->hca_handle);
	g_autofree char *objects = limit_text(limits->hca_object);

	return g_strdup_printf("%s hca_handle=%s hca_object=%s", device, handles, objects);
}

gboolean rdmad_rdma_limits_write(const RdmadSysroot *root, const char *pod_uid,
				 char *const *devices, const RdmadRdmaLimits *limits,
				 GError **error)
{
	g_autofree char *folder = NULL;
	g_autofree char *file = NULL;

	if (!controller_check(root, error))
		return FALSE;
	folder = rdmad_rdma_limits_folder(root, pod_uid, error);
	if (!folder)
		return FALSE;
	file = g_strconcat(folder, "/rdma.max", NULL);
	if (!rdmad_sysroot_exists(root, file) && !controller_hand_down(root, folder, error))
		return FALSE;
	for (guint i = 0; devices[i]; i++) {
		g_autofree char *line = rdmad_rdma_limits_line(devices[i], limits);

		if (!rdmad_sysroot_write(root, file, line, error))
			return FALSE;
	}
	return TRUE;
}
