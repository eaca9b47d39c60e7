/* SPDX-License-Identifier: Apache-2.0 */
#include "config/dropins.h"

#include <dirent.h>
#include <errno.h>
#include <rdmad/error.h>

#include "config/source.h"
#include "config/tree.h"

static int compare_names(gconstpointer a, gconstpointer b)
{
	return g_strcmp0(*(char *const *)a, *(char *const *)b);
}

/* Hidden files are not read: Kubernetes keeps its own below "..data". */
static gboolean is_dropin(const char *name)
{
	return name[0] != '.' && g_str_has_suffix(name, ".conf");
}

static gboolean folder_failed(const RdmadConfigNode *include, const char *folder, int errnum,
			      GError **error)
{
	if (rdmad_config_path_is_wrong(errnum))
		return rdmad_config_error(include, NULL, error, "%s: %s", folder,
					  g_strerror(errnum));
	return rdmad_error_errno(error, errnum, "cannot read the directory %s", folder);
}

/* NULL: an error is set. */
static GPtrArray *dropins_list(const RdmadConfigNode *include, const char *folder, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int errnum;

	if (!dir && errno == ENOENT)
		return g_steal_pointer(&names);
	if (!dir) {
		folder_failed(include, folder, errno, error);
		return NULL;
	}
	errno = 0;
	while ((entry = readdir(dir)) != NULL && names->len <= RDMAD_CONFIG_MAX_DROPINS)
		if (is_dropin(entry->d_name))
			g_ptr_array_add(names, g_strdup(entry->d_name));
	errnum = errno;
	closedir(dir);
	/* Some of the files are another configuration. */
	if (errnum) {
		folder_failed(include, folder, errnum, error);
		return NULL;
	}
	if (names->len > RDMAD_CONFIG_MAX_DROPINS) {
		rdmad_config_error(include, NULL, error, "%s holds more than %u files", folder,
				   RDMAD_CONFIG_MAX_DROPINS);
		return NULL;
	}
	g_ptr_array_sort(names, compare_names);
	return g_steal_pointer(&names);
}

/* What only the main file may say. */
static gboolean dropin_check(const RdmadConfigNode *tree, GError **error)
{
	static const char *const keys[] = { "include", "profile" };

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		const RdmadConfigNode *node = rdmad_config_node_find(tree, keys[i]);

		if (node)
			return rdmad_config_error(node, NULL, error, "works only in the main file");
	}
	return TRUE;
}

gboolean rdmad_config_dropin_merge(RdmadConfigNode *root, const char *folder, const char *name,
				   const char *include_dir, GError **error)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	g_autoptr(RdmadConfigNode) tree = NULL;
	g_autofree char *text = NULL;
	gsize length;

	text = rdmad_config_source_read(path, &length, error);
	tree = text ? rdmad_config_tree_parse(path, text, include_dir, error) : NULL;
	if (!tree || !dropin_check(tree, error))
		return FALSE;
	rdmad_config_node_merge(root, g_steal_pointer(&tree));
	return TRUE;
}

gboolean rdmad_config_dropins_merge(RdmadConfigNode *root, const char *dir, GError **error)
{
	const RdmadConfigNode *include = rdmad_config_node_find(root, "include");
	g_autoptr(GPtrArray) names = NULL;
	g_autoptr(GError) problem = NULL;
	g_autofree char *folder = NULL;

	if (!include)
		return TRUE;
	if (include->kind != RDMAD_CONFIG_KIND_STRING || *include->string == '\0')
		return rdmad_config_error(include, NULL, error,
					  "expected the name of a folder, in quotes");
	folder = g_canonicalize_filename(include->string, dir);
	names = dropins_list(include, folder, &problem);
	for (guint i = 0; names && i < names->len; i++)
		if (!rdmad_config_dropin_merge(root, folder, names->pdata[i], dir, &problem))
			break;
	if (problem)
		return g_propagate_error(error, g_steal_pointer(&problem)), FALSE;
	rdmad_config_node_remove(root, "include");
	return TRUE;
}
