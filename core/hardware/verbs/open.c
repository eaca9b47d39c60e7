/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/verbs/open.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdmad/fd.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* ---- provider libraries ---- */

char *rdmad_verbs_provider_of_file(const char *file)
{
	const char *end = strstr(file, "-rdmav");

	if (!g_str_has_prefix(file, "lib") || !end || end == file + 3 ||
	    !g_str_has_suffix(end, ".so"))
		return NULL;
	return g_strndup(file + 3, end - file - 3);
}

/* Returns "DIR/libibverbs", with the directory DIR of libibverbs, where its build installs
 * providers. */
static char *provider_dir(void)
{
	g_autofree char *dir = NULL;
	Dl_info library;

	if (!dladdr((const void *)ibv_get_device_list, &library) || !library.dli_fname)
		return NULL;
	dir = g_path_get_dirname(library.dli_fname);
	return g_build_filename(dir, "libibverbs", NULL);
}

static gboolean provider_fits(const char *provider, const char *device_name, const char *driver)
{
	return g_str_has_prefix(device_name, provider) ||
	       (driver && g_str_has_prefix(driver, provider));
}

void rdmad_verbs_provider_load(const char *device_name, const char *driver)
{
	g_autofree char *path = provider_dir();
	g_autoptr(GDir) dir = path ? g_dir_open(path, 0, NULL) : NULL;
	const char *file;

	while (dir && (file = g_dir_read_name(dir))) {
		g_autofree char *provider = rdmad_verbs_provider_of_file(file);
		g_autofree char *full = NULL;

		if (!provider || !provider_fits(provider, device_name, driver))
			continue;
		/* The constructor registers the provider with libibverbs; it is never unloaded. */
		full = g_build_filename(path, file, NULL);
		(void)!dlopen(full, RTLD_NOW | RTLD_NODELETE);
	}
}

/* ---- blocking calls: a job that opens devices and queries their limits ---- */

RdmadVerbsOpen *rdmad_verbs_open_new(const char *id, const char *name, const char *driver,
				     int index)
{
	RdmadVerbsOpen *open = g_new0(RdmadVerbsOpen, 1);

	g_atomic_ref_count_init(&open->refs);
	open->id = g_strdup(id);
	open->name = g_strdup(name);
	open->driver = g_strdup(driver);
	open->index = index;
	return open;
}

RdmadVerbsOpen *rdmad_verbs_open_ref(RdmadVerbsOpen *open)
{
	g_atomic_ref_count_inc(&open->refs);
	return open;
}

void rdmad_verbs_open_unref(RdmadVerbsOpen *open)
{
	if (!g_atomic_ref_count_dec(&open->refs))
		return;
	if (open->context)
		ibv_close_device(open->context);
	g_free(open->id);
	g_free(open->name);
	g_free(open->driver);
	g_free(open->node);
	g_free(open->problem);
	g_free(open->limits);
	g_free(open->limits_problem);
	g_free(open);
}

static struct ibv_device *list_find(struct ibv_device **list, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			return list[i];
	return NULL;
}

static gboolean context_unblock(struct ibv_context *context)
{
	const int flags = fcntl(context->async_fd, F_GETFL);

	return flags >= 0 && fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static void open_query(RdmadVerbsOpen *open)
{
	open->limits = rdmad_verbs_limits_query(open->context);
	if (!open->limits)
		open->limits_problem = g_strdup_printf("its driver does not report its limits: %s",
						       g_strerror(errno));
}

static void open_fail(RdmadVerbsOpen *open, const char *what, int errnum)
{
	open->problem = g_strdup_printf("%s: %s", what, g_strerror(errnum));
	/* EPERM: a device cgroup without the device */
	open->may_pass = errnum != EPERM && rdmad_errno_may_pass(errnum);
}

/* Returns the errno for which libibverbs may have found no device: it reports ENOSYS then, or
 * none. */
static int descriptors_errnum(void)
{
	int fds[4] = { -1, -1, -1, -1 };
	const int errnum = pipe2(fds, O_CLOEXEC) < 0 || pipe2(fds + 2, O_CLOEXEC) < 0 ? errno : 0;

	for (guint i = 0; i < G_N_ELEMENTS(fds); i++)
		rdmad_clear_fd(&fds[i]);
	return errnum;
}

/* `errnum`: of the list, or 0. */
static void open_not_listed(RdmadVerbsOpen *open, int errnum)
{
	const int wanting = descriptors_errnum();

	if (wanting || errnum)
		open_fail(open, "libibverbs", wanting ? wanting : errnum);
	else
		open->problem = g_strdup("not known to libibverbs: no driver library of its "
					 "kind, or no /dev/infiniband/uverbs for it");
}

static void open_one(RdmadVerbsOpen *open, struct ibv_device *device)
{
	g_autofree char *what = NULL;

	errno = 0;
	open->context = ibv_open_device(device);
	if (open->context && context_unblock(open->context)) {
		open->node = g_strdup(device->dev_name);
		open_query(open);
		return;
	}
	what = g_strdup_printf("cannot open /dev/infiniband/%s", device->dev_name);
	open_fail(open, what, errno ? errno : EIO);
	if (open->context)
		ibv_close_device(g_steal_pointer(&open->context));
}

void rdmad_verbs_open_all(GPtrArray *wanted, const RdmadJob *job)
{
	struct ibv_device **list, *device;
	int errnum, n = 0;

	for (guint i = 0; i < wanted->len; i++) {
		const RdmadVerbsOpen *open = wanted->pdata[i];

		rdmad_verbs_provider_load(open->name, open->driver);
	}
	list = ibv_get_device_list(&n);
	errnum = list ? 0 : errno;
	for (guint i = 0; i < wanted->len && !rdmad_job_cancelled(job); i++) {
		RdmadVerbsOpen *open = wanted->pdata[i];

		device = list_find(list, n, open->name);
		if (device)
			open_one(open, device);
		else
			open_not_listed(open, errnum);
	}
	if (list)
		ibv_free_device_list(list);
}
