/* SPDX-License-Identifier: Apache-2.0 */
#include "spare-directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_SIZE 273 /* of an allocation.json */

static void expect(gboolean done, const char *what)
{
	if (!done)
		g_error("%s: %s", what, g_strerror(errno));
}

void spare_directories_init(SpareDirectories *spares, const char *parent)
{
	int template;

	*spares = (SpareDirectories){ .root = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	expect(spares->root >= 0, parent);
	template = openat(spares->root, "template", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	expect(template >= 0, "template");
	close(template);
}

void spare_directory_make(SpareDirectories *spares)
{
	char name[32], other[48], own[48];

	g_snprintf(name, sizeof(name), "spare%u", spares->n);
	g_snprintf(other, sizeof(other), "%s/other", name);
	g_snprintf(own, sizeof(own), "%s/own", name);
	expect(mkdirat(spares->root, name, 0755) == 0, name);
	expect(linkat(spares->root, "template", spares->root, other, 0) == 0, other);
	spares->own = openat(spares->root, own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	expect(spares->own >= 0, own);
}

void spare_directory_take(SpareDirectories *spares)
{
	char spare[32], name[32];

	g_snprintf(spare, sizeof(spare), "spare%u", spares->n);
	g_snprintf(name, sizeof(name), "directory%u", spares->n++);
	expect(renameat(spares->root, spare, spares->root, name) == 0, name);
}

void spare_directory_fill(SpareDirectories *spares)
{
	char text[TEXT_SIZE];

	memset(text, '.', sizeof(text));
	expect(write(spares->own, text, sizeof(text)) == sizeof(text), "own");
	close(spares->own);
}

void spare_directories_remove(SpareDirectories *spares)
{
	static const char *const files[] = { "own", "other" };

	while (spares->n-- > 0) {
		g_autofree char *name = g_strdup_printf("directory%u", spares->n);

		for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
			g_autofree char *file = g_strdup_printf("%s/%s", name, files[i]);

			expect(unlinkat(spares->root, file, 0) == 0, file);
		}
		expect(unlinkat(spares->root, name, AT_REMOVEDIR) == 0, name);
	}
	unlinkat(spares->root, "template", 0);
	close(spares->root);
}
