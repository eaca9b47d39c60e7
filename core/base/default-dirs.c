/* SPDX-License-Identifier: Apache-2.0 */
#include "base/default-dirs.h"

#include <sys/stat.h>
#include <unistd.h>

static gboolean is_ours(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Checks the owner: after su(1), the variable may be that of another user's session. */
char *rdmad_run_dir_default(void)
{
	const char *session = g_getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0 || is_ours(RDMAD_RUN_DIR))
		return g_strdup(RDMAD_RUN_DIR);
	if (session && g_path_is_absolute(session) && is_ours(session))
		return g_build_filename(session, "rdmad", NULL);
	return g_strdup_printf("/tmp/rdmad-%u", (guint)geteuid());
}

char *rdmad_state_dir_default(void)
{
	if (geteuid() == 0 || is_ours(RDMAD_STATE_DIR))
		return g_strdup(RDMAD_STATE_DIR);
	return NULL;
}

mode_t rdmad_run_dir_mode(const char *run_dir)
{
	g_autofree char *standard = rdmad_run_dir_default();

	return g_str_equal(run_dir, RDMAD_RUN_DIR) || !g_str_equal(run_dir, standard) ? 0755 : 0700;
}
