/* SPDX-License-Identifier: Apache-2.0 */
#include "smc/task.h"

#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>
#include <rdmad/step.h>
#include <string.h>

#include "smc/pod-steps.h"
#include "smc/smc-look.h"

#define EIDS_MAX 4 /* of the kernel */

struct ErdmaSmcTasks {
	RdmadModule *self;
	RdmadExecutor *executor;
	ErdmaSmcPods *pods;
	GPtrArray *all; /* of Task; the first one runs */
	RdmadEvent *next;
};

typedef struct {
	ErdmaSmcTasks *tasks;
	char *uid;	     /* NULL: the host only */
	ErdmaSmcPod *pod;    /* NULL: undo */
	ErdmaSmcPod *before; /* the effective row that a set-up has replaced, for its failure */
	char *eid, *interface;
	gboolean tcp2smc, disable_ipv6;
	ErdmaSmcTaskDone done;
	gpointer data;
	RdmadJob *job;
	guint64 request;
	gboolean is_opening;
	ErdmaSmcHost *host;
	char **idle; /* entries of the host to remove */
} Task;

static void task_free(gpointer data)
{
	Task *task = data;

	rdmad_job_cancel(task->job);
	/* Running steps continue; a descriptor opened for a forgotten request is closed. */
	if (task->request)
		rdmad_executor_forget(task->tasks->executor, task->request);
	erdma_smc_host_free(task->host);
	erdma_smc_pod_free(task->pod);
	erdma_smc_pod_free(task->before);
	g_strfreev(task->idle);
	g_free(task->uid);
	g_free(task->eid);
	g_free(task->interface);
	g_free(task);
}

/* ---- the end of a task ---- */

static void task_end(Task *task)
{
	ErdmaSmcTasks *tasks = task->tasks;
	const ErdmaSmcTaskDone done = task->done;
	const gpointer data = task->data;
	g_autofree char *uid = g_strdup(task->uid);

	g_ptr_array_remove(tasks->all, task);
	if (tasks->all->len)
		rdmad_event_arm(tasks->next, 0);
	if (done)
		done(uid, data);
}

/* Stores the pod with its new state, even if the write fails; the next start then checks the pod
 * again. */
static void task_store(Task *task, ErdmaSmcState state, const char *reason)
{
	ErdmaSmcPod *pod = task->pod ?: erdma_smc_pods_find(task->tasks->pods, task->uid);
	g_autoptr(GError) error = NULL;

	task->pod = NULL;
	if (!pod)
		return;
	pod->state = state;
	g_free(pod->reason);
	pod->reason = g_strdup(reason);
	if (!erdma_smc_pods_put(task->tasks->pods, pod, &error))
		rdmad_warn("cannot keep that %s has SMC-R: %s", pod->name, error->message);
}

/* Returns the pod's row of an earlier container whose steps are in effect, perhaps in part, or
 * NULL.  Of a namespace that could not be identified, only the path is known. */
static const ErdmaSmcPod *pod_before(const Task *task)
{
	const ErdmaSmcPod *before = erdma_smc_pods_find(task->tasks->pods, task->uid);

	if (!before || before->state == ERDMA_SMC_TCP)
		return NULL;
	return (task->host ? rdmad_netns_id_equal(&before->netns_id, &task->pod->netns_id)
			   : g_strcmp0(before->netns, task->pod->netns) == 0)
		       ? before
		       : NULL;
}

static gboolean is_effective(const ErdmaSmcPod *before)
{
	return before && before->state != ERDMA_SMC_BEGUN;
}

/* Returns whether the pod has SMC-R by an earlier container, which may be running. */
static gboolean before_keep(Task *task, const char *reason)
{
	g_autoptr(GError) error = NULL;

	if (!task->before && !(task->pod && is_effective(pod_before(task))))
		return FALSE;
	rdmad_warn("the pod %s keeps the SMC-R of an earlier container: %s",
		   task->before ? task->before->name : task->pod->name, reason);
	if (task->before &&
	    !erdma_smc_pods_put(task->tasks->pods, g_steal_pointer(&task->before), &error))
		rdmad_warn("cannot keep that: %s", error->message);
	return TRUE;
}

static void task_fail(Task *task, const char *reason)
{
	ErdmaSmcTasks *tasks = task->tasks;

	if (!before_keep(task, reason))
		task_store(task, ERDMA_SMC_TCP, reason);
	task_end(task);
	erdma_smc_tasks_undo(tasks, NULL);
}

static gboolean submit(Task *task, const RdmadJobClass *klass, gpointer input, GError **error)
{
	RdmadModule *self = task->tasks->self;

	task->job =
		rdmad_work_submit(rdmad_module_workers(self), self, klass, input, 0, task, error);
	return task->job != NULL;
}

/* ---- steps ---- */

/* Adds one step in the host's namespace, after its entry was written to the journal. */
static gboolean host_step(Task *task, const char *id, RdmadStep *step, GPtrArray *steps,
			  GError **error)
{
	g_autoptr(GPtrArray) own = rdmad_steps_new();
	g_autofree char *text = NULL;

	g_ptr_array_add(own, step);
	text = rdmad_steps_to_text(own);
	if (!erdma_smc_host_add(task->tasks->pods, id, text, error))
		return FALSE;
	g_ptr_array_extend_and_steal(steps, g_steal_pointer(&own));
	return TRUE;
}

/* Adds the steps in the host's namespace.  Existing entries of others are not adopted. */
static gboolean host_steps(Task *task, const ErdmaSmcPod *pod, GPtrArray *steps, GError **error)
{
	const char *const *eids = (const char *const *)task->host->eids;
	g_autofree char *eid = g_strconcat("eid ", task->eid, NULL);

	if (!task->host->has_pnet) {
		RdmadStep *step = rdmad_step_new(RDMAD_STEP_SMC, RDMAD_STEP_IN_HOST);

		step->smc.pnetid = g_strdup(pod->pnetid);
		step->smc.device = g_strdup(pod->device);
		if (!host_step(task, pod->pnetid, step, steps, error))
			return FALSE;
	}
	if (*task->eid && !g_strv_contains(eids, task->eid)) {
		RdmadStep *step = rdmad_step_new(RDMAD_STEP_SMC, RDMAD_STEP_IN_HOST);

		step->smc.eid = g_strdup(task->eid);
		return host_step(task, eid, step, steps, error);
	}
	return TRUE;
}

/* ---- set-up, its last stage first ---- */

static void set_up_done(const RdmadExecutorReport *report, const GError *error, gpointer data)
{
	Task *task = data;
	const ErdmaSmcPod *pod = erdma_smc_pods_find(task->tasks->pods, task->uid);
	const gboolean transparent = pod && pod->steps && strstr(pod->steps, ERDMA_SMC_TCP2SMC);

	task->request = 0;
	if (error) {
		task_fail(task, error->message);
		return;
	}
	task_store(task, transparent ? ERDMA_SMC_TRANSPARENT : ERDMA_SMC_PREPARED,
		   transparent ? NULL
		   : task->tcp2smc
			   ? "this kernel has no sysctl net.smc.tcp2smc: programs ask for SMC "
			     "by smc_run or IPPROTO_SMC"
			   : "tcp2smc is off in the configuration: programs ask for SMC by "
			     "smc_run or IPPROTO_SMC");
	task_end(task);
}

/* Steps that an earlier container needs are repeated, and not undone if one fails. */
static gboolean set_up_execute(Task *task, const ErdmaSmcNetwork *network, GError **error)
{
	const ErdmaSmcPod *before = pod_before(task);
	ErdmaSmcPod *pod = task->pod;
	g_autoptr(GPtrArray) steps = rdmad_steps_new();
	g_autoptr(GPtrArray) own =
		erdma_smc_pod_steps(pod, network, before, task->tcp2smc, task->disable_ipv6);
	g_autofree char *text = NULL;

	pod->steps = rdmad_steps_to_text(own);
	if (is_effective(before)) {
		task->before = erdma_smc_pod_copy(before);
		pod->state = before->state;
		pod->reason = g_strdup(before->reason);
	}
	task->pod = NULL;
	if (!erdma_smc_pods_put(task->tasks->pods, pod, error) ||
	    !host_steps(task, pod, steps, error))
		return FALSE;
	g_ptr_array_extend_and_steal(steps, g_steal_pointer(&own));
	text = rdmad_steps_to_text(steps);
	task->request = rdmad_executor_run(task->tasks->executor,
					   task->before ? RDMAD_EXECUTE_TRY : RDMAD_EXECUTE_DO,
					   text, task->host->netns, set_up_done, task, error);
	return task->request != 0;
}

static void pod_looked(gpointer result, const GError *error, gpointer data)
{
	Task *task = data;
	g_autoptr(ErdmaSmcNetwork) network = result;
	g_autoptr(GError) why = NULL;

	task->job = NULL;
	if (!network) {
		task_fail(task, error->message);
		return;
	}
	task->pod->interface = g_strdup(*task->interface ? task->interface : network->interface);
	if (!task->pod->interface)
		task_fail(task,
			  "the pod has no default route by IPv4, and smc.interface is not set");
	else if (!set_up_execute(task, network, &why))
		task_fail(task, why->message);
}

static void opened(int *fds, guint n, const GError *error, gpointer data)
{
	static const RdmadJobClass klass = {
		.name = "erdma SMC pod",
		.run = erdma_smc_look_pod,
		.done = pod_looked,
		.free_input = erdma_smc_files_free,
		.free_result = erdma_smc_network_free,
	};
	Task *task = data;
	g_autoptr(GError) why = NULL;
	ErdmaSmcFiles *files;

	task->request = 0;
	if (error) {
		task_fail(task, error->message);
		return;
	}
	files = g_new0(ErdmaSmcFiles, 1);
	files->socket = n > 0 ? rdmad_steal_fd(&fds[0]) : -1;
	files->tcp2smc = n > 1 ? rdmad_steal_fd(&fds[1]) : -1;
	files->disable_ipv6 = task->disable_ipv6 && n > 2 ? rdmad_steal_fd(&fds[2]) : -1;
	files->default_ipv6 = n > 3 ? rdmad_steal_fd(&fds[3]) : -1;
	if (!submit(task, &klass, files, &why))
		task_fail(task, why->message);
}

/* Another program made the device's entry, so the pod must use the same PNETID. */
static void pnetid_adopt(Task *task)
{
	if (!task->host->has_pnet)
		return;
	g_free(task->pod->pnetid);
	task->pod->pnetid = g_strdup(task->host->pnetid);
}

static void set_up_looked(Task *task)
{
	static const char *const names[] = { ERDMA_SMC_TCP2SMC, ERDMA_SMC_DISABLE_IPV6,
					     ERDMA_SMC_DEFAULT_IPV6, NULL };
	g_autoptr(GError) error = NULL;

	task->pod->netns_id = task->host->netns_id;
	if (task->host->problem) {
		task_fail(task, task->host->problem);
		return;
	}
	pnetid_adopt(task);
	task->request = rdmad_executor_open(task->tasks->executor, names, task->host->netns, opened,
					    task, &error);
	if (!task->request)
		task_fail(task, error->message);
}

/* ---- an undo ---- */

static void undo_done(const RdmadExecutorReport *report, const GError *error, gpointer data)
{
	Task *task = data;
	ErdmaSmcPods *pods = task->tasks->pods;
	g_autoptr(GError) why = NULL;

	task->request = 0;
	/* The rows stay, and the next sweep retries the undo. */
	if (error)
		rdmad_warn("cannot undo SMC-R: %s", error->message);
	else if ((task->uid && !erdma_smc_pods_remove(pods, task->uid, &why)) ||
		 !erdma_smc_host_remove(pods, task->idle, &why))
		rdmad_warn("cannot forget SMC-R of a pod: %s", why->message);
	task_end(task);
}

static void undo_looked(Task *task)
{
	const ErdmaSmcPod *pod =
		task->uid ? erdma_smc_pods_find(task->tasks->pods, task->uid) : NULL;
	g_autoptr(GPtrArray) steps = rdmad_steps_new();
	GPtrArray *own = NULL;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	task->idle = erdma_smc_host_idle(task->tasks->pods, task->uid, steps);
	own = pod && pod->steps && pod->state != ERDMA_SMC_TCP
		      ? rdmad_steps_from_text(pod->steps, strlen(pod->steps), NULL)
		      : NULL;
	if (own)
		g_ptr_array_extend_and_steal(steps, own);
	if (!steps->len) {
		undo_done(NULL, NULL, task);
		return;
	}
	text = rdmad_steps_to_text(steps);
	task->request = rdmad_executor_run(task->tasks->executor, RDMAD_EXECUTE_UNDO, text,
					   task->host->netns, undo_done, task, &error);
	if (!task->request)
		undo_done(NULL, error, task);
}

/* ---- the queue ---- */

static void looked(gpointer result, const GError *error, gpointer data)
{
	Task *task = data;

	task->job = NULL;
	task->host = result;
	if (error && task->pod)
		task_fail(task, error->message);
	else if (error)
		undo_done(NULL, error, task);
	else if (task->pod)
		set_up_looked(task);
	else
		undo_looked(task);
}

static void task_begin(gpointer data)
{
	static const RdmadJobClass klass = {
		.name = "erdma SMC",
		.run = erdma_smc_look,
		.done = looked,
		.free_input = erdma_smc_query_free,
		.free_result = erdma_smc_host_free,
	};
	const ErdmaSmcTasks *tasks = data;
	Task *task = tasks->all->pdata[0];
	const ErdmaSmcPod *pod = task->pod   ? task->pod
				 : task->uid ? erdma_smc_pods_find(tasks->pods, task->uid)
					     : NULL;
	ErdmaSmcQuery *query = g_new0(ErdmaSmcQuery, 1);
	g_autoptr(GError) error = NULL;

	query->netns = pod ? g_strdup(pod->netns) : NULL;
	query->device = task->pod ? g_strdup(task->pod->device) : NULL;
	if (pod && !task->pod)
		query->netns_id = pod->netns_id;
	if (!submit(task, &klass, query, &error))
		looked(NULL, error, task);
}

static Task *task_add(ErdmaSmcTasks *tasks, const char *uid)
{
	Task *task = g_new0(Task, 1);

	task->tasks = tasks;
	task->uid = g_strdup(uid);
	g_ptr_array_add(tasks->all, task);
	if (tasks->all->len == 1)
		rdmad_event_arm(tasks->next, 0);
	return task;
}

void erdma_smc_tasks_set_up(ErdmaSmcTasks *tasks, ErdmaSmcPod *pod,
			    const ErdmaSmcSettings *settings, ErdmaSmcTaskDone done, gpointer data)
{
	Task *task = task_add(tasks, pod->uid);

	task->pod = pod;
	task->eid = g_strdup(settings->eid);
	task->interface = g_strdup(settings->interface);
	task->tcp2smc = settings->tcp2smc;
	task->disable_ipv6 = settings->disable_ipv6;
	task->done = done;
	task->data = data;
}

void erdma_smc_tasks_undo(ErdmaSmcTasks *tasks, const char *uid)
{
	g_auto(GStrv) idle = uid ? NULL : erdma_smc_host_idle(tasks->pods, NULL, NULL);

	if (!uid && !*idle)
		return;
	for (guint i = 0; i < tasks->all->len; i++) {
		const Task *task = tasks->all->pdata[i];

		if (g_strcmp0(task->uid, uid) == 0)
			return;
	}
	task_add(tasks, uid);
}

ErdmaSmcTasks *erdma_smc_tasks_new(RdmadModule *self, RdmadExecutor *executor, ErdmaSmcPods *pods)
{
	ErdmaSmcTasks *tasks = g_new0(ErdmaSmcTasks, 1);

	tasks->self = self;
	tasks->executor = executor;
	tasks->pods = pods;
	tasks->all = g_ptr_array_new_with_free_func(task_free);
	tasks->next = rdmad_loop_add_timer(rdmad_module_loop(self), self, task_begin, tasks);
	return tasks;
}

void erdma_smc_tasks_free(ErdmaSmcTasks *tasks)
{
	if (!tasks)
		return;
	rdmad_event_free(tasks->next);
	g_ptr_array_unref(tasks->all);
	g_free(tasks);
}
