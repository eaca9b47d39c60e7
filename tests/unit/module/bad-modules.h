/* SPDX-License-Identifier: Apache-2.0 */
/* The modules in bad/, built below the test programs */
#pragma once

#include <glib.h>

static inline char *bad_modules_dir(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *here = g_path_get_dirname(self);

	return g_build_filename(here, "module", NULL);
}
