/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job opens the namespaces, the executor opens a socket in each, and a second job lists the SMC
 * sockets with these, because the daemon itself must not enter a namespace.
 */
#include "smc/survey.h"

#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/module.h>
#include <rdmad/smc.h>
#include <rdmad/work.h>
#include <string.h>

typedef struct {
	ErdmaSmcListing listing; /* first, so that an array of Pod is one of listings */
	ErdmaSmcSurvey *survey;
	char *netns;
	RdmadNetnsId netns_id;
	int fd; /* of the namespace, then of a socket in it; -1: none */
	guint64 request;
} Pod;

struct ErdmaSmcSurvey {
	RdmadModule *self;
	RdmadExecutor *executor;
	const ErdmaSmcPods *pods;
	void (*done)(const GPtrArray *listings, gpointer data);
	gpointer data;
	RdmadJob *job;
	GPtrArray *opening; /* of Pod, while the executor opens sockets; else NULL */
	guint n_pending;    /* number of outstanding answers */
};

static void pod_free(gpointer data)
{
	Pod *pod = data;

	g_free(pod->listing.uid);
	g_free(pod->listing.pod);
	g_free(pod->listing.problem);
	if (pod->listing.sockets)
		g_ptr_array_unref(pod->listing.sockets);
	g_free(pod->netns);
	rdmad_clear_fd(&pod->fd);
	g_free(pod);
}

static void pods_free(gpointer pods)
{
	if (pods)
		g_ptr_array_unref(pods);
}

static void pod_set_problem(Pod *pod, const GError *error)
{
	g_free(pod->listing.problem);
	pod->listing.problem = g_strdup(error->message);
}

static Pod *pod_copy(const Pod *pod)
{
	Pod *copy = g_new0(Pod, 1);

	copy->listing.uid = g_strdup(pod->listing.uid);
	copy->listing.pod = g_strdup(pod->listing.pod);
	copy->listing.problem = g_strdup(pod->listing.problem);
	copy->survey = pod->survey;
	copy->netns = g_strdup(pod->netns);
	copy->netns_id = pod->netns_id;
	copy->fd = -1;
	return copy;
}

/* ---- listing ---- */

static gpointer list_run(gpointer input, const RdmadJob *job, GError **error)
{
	const GPtrArray *pods = input;
	GPtrArray *listed = g_ptr_array_new_with_free_func(pod_free);

	for (guint i = 0; i < pods->len; i++) {
		Pod *pod = pods->pdata[i];
		Pod *copy = pod_copy(pod);
		g_autoptr(GError) why = NULL;

		if (pod->fd >= 0) {
			copy->listing.sockets =
				rdmad_smc_sockets_list(rdmad_steal_fd(&pod->fd), &why);
			if (why)
				pod_set_problem(copy, why);
		}
		g_ptr_array_add(listed, copy);
	}
	return listed;
}

static void list_done(gpointer result, const GError *error, gpointer data)
{
	ErdmaSmcSurvey *survey = data;
	g_autoptr(GPtrArray) listed = result ?: g_ptr_array_new_with_free_func(pod_free);

	survey->job = NULL;
	survey->done(listed, survey->data);
}

static void submit(ErdmaSmcSurvey *survey, const RdmadJobClass *klass, GPtrArray *input)
{
	g_autoptr(GError) error = NULL;

	survey->job = rdmad_work_submit(rdmad_module_workers(survey->self), survey->self, klass,
					input, 0, survey, &error);
	if (!survey->job)
		list_done(NULL, error, survey);
}

static void list_all(ErdmaSmcSurvey *survey)
{
	static const RdmadJobClass klass = {
		.name = "erdma SMC sockets",
		.run = list_run,
		.done = list_done,
		.free_input = pods_free,
		.free_result = pods_free,
	};

	submit(survey, &klass, g_steal_pointer(&survey->opening));
}

/* ---- sockets in the namespaces ---- */

static void opened(int *fds, guint n, const GError *error, gpointer data)
{
	Pod *pod = data;
	ErdmaSmcSurvey *survey = pod->survey;

	pod->request = 0;
	if (error)
		pod_set_problem(pod, error);
	else if (n > 1)
		pod->fd = rdmad_steal_fd(&fds[1]);
	if (--survey->n_pending == 0)
		list_all(survey);
}

static void pod_open(ErdmaSmcSurvey *survey, Pod *pod)
{
	static const char *const names[] = { RDMAD_EXECUTOR_SOCK_DIAG, NULL };
	rdmad_autofd int netns = rdmad_steal_fd(&pod->fd);
	g_autoptr(GError) error = NULL;

	if (netns < 0)
		return;
	pod->request = rdmad_executor_open(survey->executor, names, netns, opened, pod, &error);
	if (pod->request)
		survey->n_pending++;
	else
		pod_set_problem(pod, error);
}

static gpointer netns_run(gpointer input, const RdmadJob *job, GError **error)
{
	const GPtrArray *pods = input;
	GPtrArray *all = g_ptr_array_new_with_free_func(pod_free);

	for (guint i = 0; i < pods->len; i++) {
		Pod *copy = pod_copy(pods->pdata[i]);
		g_autoptr(GError) why = NULL;
		RdmadNetnsId id;

		copy->fd = rdmad_netns_open(copy->netns, &id, &why);
		if (copy->fd >= 0 && !rdmad_netns_id_equal(&id, &copy->netns_id)) {
			rdmad_clear_fd(&copy->fd);
			why = g_error_new_literal(RDMAD_ERROR, RDMAD_ERROR_GONE,
						  "its network namespace is gone");
		}
		if (why)
			pod_set_problem(copy, why);
		g_ptr_array_add(all, copy);
	}
	return all;
}

static void netns_done(gpointer result, const GError *error, gpointer data)
{
	ErdmaSmcSurvey *survey = data;

	survey->job = NULL;
	survey->opening = result ?: g_ptr_array_new_with_free_func(pod_free);
	survey->n_pending = 1;
	for (guint i = 0; i < survey->opening->len; i++)
		pod_open(survey, survey->opening->pdata[i]);
	if (--survey->n_pending == 0)
		list_all(survey);
}

void erdma_smc_survey_begin(ErdmaSmcSurvey *survey)
{
	static const RdmadJobClass klass = {
		.name = "erdma SMC namespaces",
		.run = netns_run,
		.done = netns_done,
		.free_input = pods_free,
		.free_result = pods_free,
	};
	const GPtrArray *all = erdma_smc_pods_all(survey->pods);
	GPtrArray *input;

	if (survey->job || survey->opening)
		return;
	input = g_ptr_array_new_with_free_func(pod_free);
	for (guint i = 0; i < all->len; i++) {
		const ErdmaSmcPod *one = all->pdata[i];
		const Pod pod = { .listing = { .uid = one->uid, .pod = one->name },
				  .survey = survey,
				  .netns = one->netns,
				  .netns_id = one->netns_id };

		g_ptr_array_add(input, pod_copy(&pod));
	}
	submit(survey, &klass, input);
}

/* ---- life ---- */

ErdmaSmcSurvey *erdma_smc_survey_new(RdmadModule *self, RdmadExecutor *executor,
				     const ErdmaSmcPods *pods,
				     void (*done)(const GPtrArray *listings, gpointer data),
				     gpointer data)
{
	ErdmaSmcSurvey *survey = g_new0(ErdmaSmcSurvey, 1);

	survey->self = self;
	survey->executor = executor;
	survey->pods = pods;
	survey->done = done;
	survey->data = data;
	return survey;
}

void erdma_smc_survey_free(ErdmaSmcSurvey *survey)
{
	if (!survey)
		return;
	rdmad_job_cancel(survey->job);
	for (guint i = 0; survey->opening && i < survey->opening->len; i++) {
		const Pod *pod = survey->opening->pdata[i];

		if (pod->request)
			rdmad_executor_forget(survey->executor, pod->request);
	}
	pods_free(survey->opening);
	g_free(survey);
}
