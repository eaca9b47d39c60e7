/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/loader.h"

#include <rdmad/error.h>
#include <rdmad/module.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>

#include "driver/module-calls.h"

struct ErdmaLoader {
	RdmadModule *self;
	ErdmaProgram *program;
	RdmadJob *job;
	char *module, *parameter;
	gboolean out;
	gboolean else_calls; /* there may be no modprobe */
	ErdmaProgramDone done;
	gpointer data;
};

static void loader_free(ErdmaLoader *loader)
{
	g_free(loader->module);
	g_free(loader->parameter);
	g_free(loader);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaLoader, loader_free)

static void loader_finish(ErdmaLoader *loader, const char *tail, const GError *error)
{
	const ErdmaProgramDone done = loader->done;
	gpointer data = loader->data;

	loader_free(loader);
	done(tail, error, data);
}

/* ---- by system calls ---- */

typedef struct {
	const RdmadSysroot *root;
	char *module, *parameter;
	gboolean out;
} Calls;

static void calls_free(gpointer data)
{
	Calls *calls = data;

	g_free(calls->module);
	g_free(calls->parameter);
	g_free(calls);
}

static gpointer calls_run(gpointer input, const RdmadJob *job, GError **error)
{
	const Calls *calls = input;

	if (calls->out)
		erdma_module_remove(calls->module, error);
	else
		erdma_module_insert(calls->root, calls->module, calls->parameter, error);
	return NULL;
}

static void calls_done(gpointer result, const GError *error, gpointer data)
{
	loader_finish(data, "", error);
}

static const RdmadJobClass calls_class = {
	.name = "erdma-module",
	.run = calls_run,
	.done = calls_done,
	.free_input = calls_free,
};

static gboolean loader_call(ErdmaLoader *loader, GError **error)
{
	const RdmadSysroot *root = rdmad_module_sysroot(loader->self);
	Calls *calls;

	if (!rdmad_sysroot_is_live(root)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "a recorded machine has no kernel that takes modules");
		return FALSE;
	}
	calls = g_new0(Calls, 1);
	calls->root = root;
	calls->module = g_strdup(loader->module);
	calls->parameter = g_strdup(loader->parameter);
	calls->out = loader->out;
	loader->job = rdmad_work_submit(rdmad_module_workers(loader->self), loader->self,
					&calls_class, calls, 0, loader, error);
	return loader->job != NULL;
}

/* ---- by modprobe ---- */

static void program_done(const char *tail, const GError *error, gpointer data)
{
	ErdmaLoader *loader = data;
	g_autoptr(GError) problem = NULL;

	loader->program = NULL;
	if (!loader->else_calls || !g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		loader_finish(loader, tail, error);
	else if (!loader_call(loader, &problem))
		loader_finish(loader, "", problem);
}

static gboolean loader_run(ErdmaLoader *loader, const ErdmaDriverSettings *settings, GError **error)
{
	const char *const in[] = { settings->modprobe, loader->module, loader->parameter, NULL };
	const char *const out[] = { settings->modprobe, "-r", loader->module, NULL };
	const ErdmaProgramSpec spec = {
		.argv = loader->out ? out : in,
		.timeout_ms = settings->load_timeout_ms,
	};

	loader->program = erdma_program_start(loader->self, &spec, program_done, loader, error);
	return loader->program != NULL;
}

ErdmaLoader *erdma_loader_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				const char *module, const char *parameter, gboolean out,
				ErdmaProgramDone done, gpointer data, GError **error)
{
	g_autoptr(ErdmaLoader) loader = g_new0(ErdmaLoader, 1);

	loader->self = self;
	loader->module = g_strdup(module);
	loader->parameter = g_strdup(parameter);
	loader->out = out;
	loader->else_calls = settings->load_with == ERDMA_LOAD_AUTO;
	loader->done = done;
	loader->data = data;
	if (!(settings->load_with == ERDMA_LOAD_FINIT ? loader_call(loader, error)
						      : loader_run(loader, settings, error)))
		return NULL;
	return g_steal_pointer(&loader);
}

void erdma_loader_cancel(ErdmaLoader *loader)
{
	if (!loader)
		return;
	erdma_program_cancel(loader->program);
	rdmad_job_cancel(loader->job);
	loader_free(loader);
}
