/* SPDX-License-Identifier: Apache-2.0 */
/* A directory for one test, removed with its contents */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

static inline char *scratch_new(void)
{
	g_autoptr(GError) error = NULL;
	char *path = g_dir_make_tmp("rdmad-test-XXXXXX", &error);

	g_assert_no_error(error);
	return path;
}

static inline void scratch_remove(const char *path)
{
	struct stat st;

	if (g_lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		GDir *dir = g_dir_open(path, 0, NULL);
		const char *name;

		while (dir && (name = g_dir_read_name(dir))) {
			g_autofree char *below = g_build_filename(path, name, NULL);

			scratch_remove(below);
		}
		g_clear_pointer(&dir, g_dir_close);
	}
	g_remove(path);
}

static inline void scratch_free(char *path)
{
	scratch_remove(path);
	g_free(path);
}

typedef char Scratch;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scratch, scratch_free)

static inline char *scratch_write(const char *dir, const char *name, const char *text)
{
	char *path = g_build_filename(dir, name, NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_assert_cmpint(chmod(path, 0644), ==, 0);
	return path;
}
