/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/rdma-limits.h"

#include <rdmad/cgroup-pod.h>

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
	g_autofree char *cgroup = rdmad_cgroup_pod_find(root, pod_uid, "rdma", error);
	g_autofree char *file = cgroup ? g_strconcat(cgroup, "/rdma.max", NULL) : NULL;

	if (!cgroup || (!rdmad_sysroot_exists(root, file) &&
			!rdmad_cgroup_enable(root, cgroup, "rdma", error)))
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
