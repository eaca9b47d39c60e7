/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/pod-process.h>
#include <rdmad/work.h>

#define DEADLINE_MS 5000

/* Delays after failed looks: the sandbox of a pod starts soon after its Allocate. */
static const guint step_ms[] = { 100, 200, 500, 1000, 2000, 5000, 20000, 60000 };

struct NcclLook {
	RdmadModule *self;
	char *pod_namespace, *pod_name;
	void (*ended)(gpointer data);
	gpointer data;
	RdmadJob *job;
	RdmadEvent *retry;
	guint step;
	gboolean again;		 /* requested while the job ran */
	RdmadPodProcess process; /* pid 0: not found yet */
	NcclNetwork *network;
	char *problem;
};

/* ---- on a worker ---- */

typedef struct {
	const RdmadSysroot *root;
	char *pod_namespace, *pod_name;
	RdmadPodProcess process;
} LookInput;

typedef struct {
	RdmadPodProcess process;
	NcclNetwork *network;
} LookResult;

static void input_free(gpointer data)
{
	LookInput *input = data;

	g_free(input->pod_namespace);
	g_free(input->pod_name);
	g_free(input);
}

static void result_free(gpointer data)
{
	LookResult *result = data;

	g_clear_pointer(&result->network, nccl_network_free);
	g_free(result);
}

/* The kernel may reuse the PID during the reading. */
static NcclNetwork *process_read(const RdmadSysroot *root, const RdmadPodProcess *process,
				 GError **error)
{
	g_autofree char *pid = g_strdup_printf("%d", process->pid);
	g_autoptr(NcclNetwork) network = nccl_network_read(root, pid, error);

	if (network && !rdmad_pod_process_is(root, process)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "process %s has ended", pid);
		return NULL;
	}
	return g_steal_pointer(&network);
}

static gpointer look_run(gpointer data, const RdmadJob *job, GError **error)
{
	const LookInput *input = data;
	LookResult result = { .process = input->process };

	if (result.process.pid)
		result.network = process_read(input->root, &result.process, NULL);
	if (!result.network && rdmad_pod_process_find(input->root, input->pod_namespace,
						      input->pod_name, &result.process, error))
		result.network = process_read(input->root, &result.process, error);
	return result.network ? g_memdup2(&result, sizeof(result)) : NULL;
}

/* ---- on the loop ---- */

static void look_begin(gpointer data);

/* Other errors may pass, and are reported only after the last retry. */
static gboolean error_is_final(const GError *error)
{
	return g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND) ||
	       g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_INVALID) ||
	       g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE);
}

static void look_fail(NcclLook *look, const GError *error)
{
	const gboolean is_last = look->step == G_N_ELEMENTS(step_ms);

	rdmad_debug("network of %s/%s: %s", look->pod_namespace, look->pod_name, error->message);
	if (error_is_final(error) || is_last) {
		g_free(look->problem);
		look->problem = g_strdup(error->message);
	}
	if (!is_last)
		rdmad_event_arm(look->retry, step_ms[look->step++]);
}

static void look_done(gpointer data, const GError *error, gpointer look_data)
{
	NcclLook *look = look_data;
	LookResult *result = data;

	look->job = NULL;
	if (result) {
		g_clear_pointer(&look->problem, g_free);
		g_clear_pointer(&look->network, nccl_network_free);
		look->network = g_steal_pointer(&result->network);
		look->process = result->process;
		result_free(result);
	} else {
		look_fail(look, error);
	}
	if (look->again)
		look_begin(look);
	look->ended(look->data);
}

static void look_begin(gpointer data)
{
	static const RdmadJobClass klass = {
		.name = "network of a pod",
		.run = look_run,
		.done = look_done,
		.free_input = input_free,
		.free_result = result_free,
	};
	NcclLook *look = data;
	LookInput *input = g_new0(LookInput, 1);
	g_autoptr(GError) error = NULL;

	look->again = FALSE;
	rdmad_event_disarm(look->retry);
	*input = (LookInput){ rdmad_module_sysroot(look->self), g_strdup(look->pod_namespace),
			      g_strdup(look->pod_name), look->process };
	look->job = rdmad_work_submit(rdmad_module_workers(look->self), look->self, &klass, input,
				      DEADLINE_MS, look, &error);
	if (!look->job)
		look_fail(look, error);
}

void nccl_look_again(NcclLook *look)
{
	look->step = 0;
	if (look->job)
		look->again = TRUE;
	else
		look_begin(look);
}

gboolean nccl_look_is_running(const NcclLook *look)
{
	return look->job != NULL;
}

const NcclNetwork *nccl_look_network(const NcclLook *look)
{
	return look->network;
}

const char *nccl_look_problem(const NcclLook *look)
{
	return look->problem;
}

NcclLook *nccl_look_new(RdmadModule *self, const char *pod_namespace, const char *pod_name,
			void (*ended)(gpointer data), gpointer data)
{
	NcclLook *look = g_new0(NcclLook, 1);

	look->self = self;
	look->pod_namespace = g_strdup(pod_namespace);
	look->pod_name = g_strdup(pod_name);
	look->ended = ended;
	look->data = data;
	look->retry = rdmad_loop_add_timer(rdmad_module_loop(self), self, look_begin, look);
	look_begin(look);
	return look;
}

void nccl_look_free(NcclLook *look)
{
	rdmad_job_cancel(look->job);
	rdmad_event_free(look->retry);
	g_clear_pointer(&look->network, nccl_network_free);
	g_free(look->problem);
	g_free(look->pod_namespace);
	g_free(look->pod_name);
	g_free(look);
}
