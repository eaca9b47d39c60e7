/* SPDX-License-Identifier: Apache-2.0 */
#include "limit-job.h"

typedef struct {
	const RdmadSysroot *root;
	char *pod_uid;
	char **devices;
	RdmadRdmaLimits limits;
} Input;

gpointer rdmad_limit_job_input(RdmadModule *self, const char *pod_uid, char *const *devices,
			       const RdmadRdmaLimits *limits)
{
	Input *input = g_new0(Input, 1);

	input->root = rdmad_module_sysroot(self);
	input->pod_uid = g_strdup(pod_uid);
	input->devices = g_strdupv((char **)devices);
	input->limits = *limits;
	return input;
}

void rdmad_limit_job_input_free(gpointer data)
{
	Input *input = data;

	g_free(input->pod_uid);
	g_strfreev(input->devices);
	g_free(input);
}

gpointer rdmad_limit_job_run(gpointer data, const RdmadJob *job, GError **error)
{
	const Input *input = data;
	const gboolean written = rdmad_rdma_limits_write(input->root, input->pod_uid,
							 input->devices, &input->limits, error);

	return written ? data : NULL;
}
