/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/install.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/module.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <string.h>
#include <sys/stat.h>

#define CGROUP "rdmad-erdma-installer"

struct ErdmaInstall {
	RdmadModule *self;
	RdmadJob *job; /* the package is being read */
	ErdmaProgram *program;
	char **command, **environment;
	guint64 timeout_ms;
	ErdmaProgramDone done;
	gpointer data;
};

/* ---- the package, on a worker ---- */

typedef struct {
	const RdmadSysroot *root;
	char *path, *sha256;
} Package;

static void package_free(gpointer data)
{
	Package *package = data;

	g_free(package->path);
	g_free(package->sha256);
	g_free(package);
}

static gboolean file_read(int fd, char *buffer, gsize size, GError **error)
{
	for (gsize done = 0; done < size;) {
		const gssize n = read(fd, buffer + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rdmad_error_errno(error, errno, "cannot read it");
		if (n == 0) {
			g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "it became shorter");
			return FALSE;
		}
		done += (gsize)n;
	}
	return TRUE;
}

/* The very bytes that the checksum is of are what the command gets. */
static GBytes *package_read(const Package *package, GError **error)
{
	rdmad_autofd int fd =
		rdmad_sysroot_open(package->root, package->path + 1, O_RDONLY | O_NONBLOCK, error);
	g_autofree char *buffer = NULL;
	g_autofree char *sum = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0) {
		rdmad_error_errno(error, errno, "cannot read it");
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > ERDMA_PACKAGE_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "not a file of at most %u MiB",
			    ERDMA_PACKAGE_MAX >> 20);
		return NULL;
	}
	buffer = g_malloc((gsize)st.st_size + 1);
	if (!file_read(fd, buffer, (gsize)st.st_size, error))
		return NULL;
	sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)buffer,
					  (gsize)st.st_size);
	if (g_ascii_strcasecmp(sum, package->sha256) != 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "its sha256 is %s, not the configured one", sum);
		return NULL;
	}
	return g_bytes_new_take(g_steal_pointer(&buffer), (gsize)st.st_size);
}

static gpointer package_run(gpointer input, const RdmadJob *job, GError **error)
{
	const Package *package = input;
	GBytes *bytes = package_read(package, error);

	if (!bytes)
		g_prefix_error(error, "%s: ", package->path);
	return bytes;
}

/* ---- its life ---- */

static void install_free(ErdmaInstall *install)
{
	g_strfreev(install->command);
	g_strfreev(install->environment);
	g_free(install);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaInstall, install_free)

static void install_finish(ErdmaInstall *install, const char *tail, const GError *error)
{
	const ErdmaProgramDone done = install->done;
	gpointer data = install->data;

	install_free(install);
	done(tail, error, data);
}

static void program_done(const char *tail, const GError *error, gpointer data)
{
	install_finish(data, tail, error);
}

static gboolean install_run(ErdmaInstall *install, GBytes *package, GError **error)
{
	const ErdmaProgramSpec spec = {
		.argv = (const char *const *)install->command,
		.environment = (const char *const *)install->environment,
		.input = package,
		.cgroup = CGROUP,
		.timeout_ms = install->timeout_ms,
	};

	install->program = erdma_program_start(install->self, &spec, program_done, install, error);
	return install->program != NULL;
}

static void package_done(gpointer result, const GError *error, gpointer data)
{
	ErdmaInstall *install = data;
	g_autoptr(GBytes) package = result;
	g_autoptr(GError) problem = NULL;

	install->job = NULL;
	if (error)
		install_finish(install, "", error);
	else if (!install_run(install, package, &problem))
		install_finish(install, "", problem);
}

static const RdmadJobClass package_class = {
	.name = "erdma-package",
	.run = package_run,
	.done = package_done,
	.free_input = package_free,
	.free_result = (GDestroyNotify)g_bytes_unref,
};

static gboolean install_begin(ErdmaInstall *install, const ErdmaDriverSettings *settings,
			      GError **error)
{
	Package *package;

	if (!settings->install_package || !settings->install_package[0])
		return install_run(install, NULL, error);
	package = g_new0(Package, 1);
	package->root = rdmad_module_sysroot(install->self);
	package->path = g_strdup(settings->install_package);
	package->sha256 = g_strdup(settings->install_sha256);
	install->job = rdmad_work_submit(rdmad_module_workers(install->self), install->self,
					 &package_class, package, 0, install, error);
	return install->job != NULL;
}

ErdmaInstall *erdma_install_start(RdmadModule *self, const ErdmaDriverSettings *settings,
				  ErdmaProgramDone done, gpointer data, GError **error)
{
	g_autoptr(ErdmaInstall) install = g_new0(ErdmaInstall, 1);

	install->self = self;
	install->command = g_strdupv(settings->install_command);
	install->environment = g_strdupv(settings->install_environment);
	install->timeout_ms = settings->install_timeout_ms;
	install->done = done;
	install->data = data;
	return install_begin(install, settings, error) ? g_steal_pointer(&install) : NULL;
}

void erdma_install_cancel(ErdmaInstall *install)
{
	if (!install)
		return;
	rdmad_job_cancel(install->job);
	erdma_program_cancel(install->program);
	install_free(install);
}
