/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/loader.h"

#include <rdmad/error.h>
#include <rdmad/module.h>
#include <rdmad/sysroot.h>

#include "driver/facts.h"
#include "driver/plan.h"

#define LOCK "erdma-driver.lock"

/* A load or unload of one module. */
typedef struct {
	const char *module, *parameter; /* parameter NULL: none */
	gboolean out;
} Change;

struct ErdmaLoader {
	RdmadModule *self;
	RdmadHostRun *run;
	guint fallback; /* the command by system calls if modprobe is missing; 0: none */
	RdmadHostDone done;
	gpointer data;
};

/* ---- commands ---- */

char *erdma_loader_lock(RdmadModule *self)
{
	return g_build_filename(rdmad_module_state_dir(self) ?: rdmad_module_run_dir(self), LOCK,
				NULL);
}

static guint by_modprobe(RdmadModule *self, const ErdmaDriverSettings *settings,
			 const Change *change, GError **error)
{
	const char *const in[] = { settings->modprobe, change->module, change->parameter, NULL };
	const char *const out[] = { settings->modprobe, "-r", change->module, NULL };
	g_autofree char *lock = erdma_loader_lock(self);
	const RdmadHostCommand command = {
		.kind = RDMAD_HOST_PROGRAM,
		.argv = change->out ? out : in,
		.cgroup = ERDMA_CGROUP,
		.lock = lock,
		.timeout_ms = settings->load_timeout_ms,
	};

	return rdmad_host_declare(rdmad_module_keeper(self), rdmad_module_sysroot(self), &command,
				  error);
}

static guint by_calls(RdmadModule *self, const Change *change, GError **error)
{
	g_autofree char *lock = erdma_loader_lock(self);
	const RdmadHostCommand command = {
		.kind = change->out ? RDMAD_HOST_REMOVE : RDMAD_HOST_INSERT,
		.module = change->module,
		.parameter = change->parameter,
		.lock = lock,
	};

	return rdmad_host_declare(rdmad_module_keeper(self), rdmad_module_sysroot(self), &command,
				  error);
}

gboolean erdma_loader_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error)
{
	const Change changes[] = {
		{ settings->module, NULL, FALSE },
		{ settings->module, ERDMA_PARAMETER_COMPAT, FALSE },
		{ settings->module, ERDMA_PARAMETER_DEFAULT, FALSE },
		{ settings->module, NULL, TRUE },
		{ erdma_companion_names[ERDMA_COMPANION_SMC], NULL, FALSE },
		{ erdma_companion_names[ERDMA_COMPANION_PEERMEM], NULL, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(changes); i++)
		if (!by_modprobe(self, settings, &changes[i], error) ||
		    !by_calls(self, &changes[i], error))
			return FALSE;
	return TRUE;
}

/* ---- life ---- */

static void loader_finish(ErdmaLoader *loader, const char *tail, const GError *error)
{
	g_autofree ErdmaLoader *ended = loader;

	ended->done(tail, error, ended->data);
}

static gboolean loader_run(ErdmaLoader *loader, guint number, GError **error);

static void run_done(const char *tail, const GError *error, gpointer data)
{
	ErdmaLoader *loader = data;
	const guint fallback = loader->fallback;
	g_autoptr(GError) problem = NULL;

	loader->run = NULL;
	loader->fallback = 0;
	if (!fallback || !g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		loader_finish(loader, tail, error);
	else if (!loader_run(loader, fallback, &problem))
		loader_finish(loader, "", problem);
}

static gboolean loader_run(ErdmaLoader *loader, guint number, GError **error)
{
	loader->run = rdmad_host_start(rdmad_module_loop(loader->self), loader->self,
				       rdmad_module_keeper(loader->self), number, run_done, loader,
				       error);
	return loader->run != NULL;
}

/* Returns 0 on a recorded machine, which has no kernel to load modules. */
static guint calls_if_live(RdmadModule *self, const Change *change, GError **error)
{
	if (rdmad_sysroot_is_live(rdmad_module_sysroot(self)))
		return by_calls(self, change, error);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
		    "a recorded machine has no kernel that takes modules");
	return 0;
}

ErdmaLoader *erdma_loader_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				const char *module, const char *parameter, gboolean out,
				RdmadHostDone done, gpointer data, GError **error)
{
	const Change change = { module, parameter, out };
	const gboolean calls_only = settings->load_with == ERDMA_LOAD_FINIT;
	const guint number = calls_only ? calls_if_live(self, &change, error)
					: by_modprobe(self, settings, &change, error);
	g_autofree ErdmaLoader *loader = g_new0(ErdmaLoader, 1);

	loader->self = self;
	loader->done = done;
	loader->data = data;
	if (settings->load_with == ERDMA_LOAD_AUTO)
		loader->fallback = calls_if_live(self, &change, NULL);
	if (!number || !loader_run(loader, number, error))
		return NULL;
	return g_steal_pointer(&loader);
}

void erdma_loader_cancel(ErdmaLoader *loader)
{
	if (!loader)
		return;
	rdmad_host_cancel(loader->run);
	g_free(loader);
}
