/* SPDX-License-Identifier: Apache-2.0 */
/* `rdmad import-config FILE`: becomes the importer, a program in Python (contrib/import) */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/terminal.h"
#include "build-info.h"
#include "cli/command.h"

#define PYTHON	      "/usr/bin/python3"
#define OF_BUILD_TREE "../contrib/import" /* from the program */

/* Another user may have made a directory beside that of the program, as in /tmp. */
static gboolean is_of_owner(const char *program, const char *directory)
{
	struct stat mine, its;

	return stat(program, &mine) == 0 && stat(directory, &its) == 0 && S_ISDIR(its.st_mode) &&
	       its.st_uid == mine.st_uid && !(its.st_mode & S_IWOTH);
}

/* Returns the directory of the importer that belongs to this program, or NULL. */
static char *importer_find(void)
{
	const char *program = (const char *)getauxval(AT_EXECFN);
	g_autofree char *directory = g_path_get_dirname(program);
	g_autofree char *built = g_build_filename(directory, OF_BUILD_TREE, NULL);

	if (is_of_owner(program, built))
		return g_steal_pointer(&built);
	return access(RDMAD_IMPORT_DIR, R_OK | X_OK) == 0 ? g_strdup(RDMAD_IMPORT_DIR) : NULL;
}

int command_import(const CommandOptions *options)
{
	g_autofree char *importer = importer_find();
	g_autofree char *key = g_strconcat("--key=", options->key, NULL);
	g_autofree char *prefix = g_strconcat("--resource-prefix=", options->prefix, NULL);
	const char *argv[9] = { PYTHON, "-I", "-B", importer };
	guint n = 4;

	if (!importer) {
		rdmad_terminal_error(
			"the importer is not installed (%s), as in the image: run it "
			"where Debian's package rdmad is, or as `python3 contrib/import "
			"FILE` in the source",
			RDMAD_IMPORT_DIR);
		return 1;
	}
	if (options->key)
		argv[n++] = key;
	if (options->prefix)
		argv[n++] = prefix;
	argv[n++] = "--";
	argv[n++] = options->argument;
	execv(PYTHON, (char *const *)argv);
	rdmad_terminal_error("import-config needs Python 3 and PyYAML, Debian's package "
			     "python3-yaml: %s: %s",
			     PYTHON, g_strerror(errno));
	return 1;
}
