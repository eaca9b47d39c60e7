/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/verbs-provider.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <string.h>

char *rdmad_verbs_provider_of_file(const char *file)
{
	const char *end = strstr(file, "-rdmav");

	if (!g_str_has_prefix(file, "lib") || !end || end == file + 3 ||
	    !g_str_has_suffix(end, ".so"))
		return NULL;
	return g_strndup(file + 3, end - file - 3);
}

/* "<where libibverbs is>/libibverbs", as it is built. */
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
		/* Its constructor makes it known to libibverbs; it stays. */
		full = g_build_filename(path, file, NULL);
		(void)!dlopen(full, RTLD_NOW | RTLD_NODELETE);
	}
}
