/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#include "base/nearest.h"
#include "config/config-private.h"
#include "config/node.h"
#include "config/source.h"
#include "config/tree.h"

#define RDMAD_CONFIG_MAX_DROPINS 256u

/* ---- drop-ins: the directory of the `include` key ---- */

static int compare_names(gconstpointer a, gconstpointer b)
{
	return g_strcmp0(*(char *const *)a, *(char *const *)b);
}

/* Hidden files are ignored: a Kubernetes ConfigMap volume has "..data" and the like. */
static gboolean is_dropin(const char *name)
{
	return name[0] != '.' && g_str_has_suffix(name, ".conf");
}

static gboolean directory_failed(const RdmadConfigNode *include, const char *directory, int errnum,
				 GError **error)
{
	if (rdmad_config_path_is_wrong(errnum))
		return rdmad_config_error(include, NULL, error, "%s: %s", directory,
					  g_strerror(errnum));
	return rdmad_error_errno(error, errnum, "cannot read the directory %s", directory);
}

/* Returns NULL and sets `error` on failure. */
static GPtrArray *dropins_list(const RdmadConfigNode *include, const char *directory,
			       GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) all = rdmad_fd_list(AT_FDCWD, directory);

	if (!all && errno == ENOENT)
		return g_steal_pointer(&names);
	if (!all) {
		directory_failed(include, directory, errno, error);
		return NULL;
	}
	for (char **name = all; *name; name++)
		if (is_dropin(*name))
			g_ptr_array_add(names, g_strdup(*name));
	if (names->len > RDMAD_CONFIG_MAX_DROPINS) {
		rdmad_config_error(include, NULL, error, "%s holds more than %u files", directory,
				   RDMAD_CONFIG_MAX_DROPINS);
		return NULL;
	}
	g_ptr_array_sort(names, compare_names);
	return g_steal_pointer(&names);
}

/* Rejects keys that are valid only in the main file. */
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

/* Callers take RDMAD_ERROR_NOT_FOUND for the main file's. */
static char *dropin_read(const RdmadConfigNode *key, const char *path, GError **error)
{
	g_autoptr(GError) problem = NULL;
	gsize length;
	char *text = rdmad_config_source_read(path, &length, &problem);

	if (g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		rdmad_config_error(key, NULL, error, "%s: no such file, or a link to a missing one",
				   path);
	else if (problem)
		g_propagate_error(error, g_steal_pointer(&problem));
	return text;
}

/* Merges one file of `directory`, which `key` names, over `root`.  Its `@include` is relative to
 * `include_dir`, and rejected if that is NULL. */
static gboolean config_dropin_merge(RdmadConfigNode *root, const RdmadConfigNode *key,
				    const char *directory, const char *name,
				    const char *include_dir, GError **error)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	g_autofree char *text = dropin_read(key, path, error);
	g_autoptr(RdmadConfigNode) tree = NULL;

	tree = text ? rdmad_config_tree_parse(path, text, include_dir, error) : NULL;
	if (!tree || !dropin_check(tree, error))
		return FALSE;
	rdmad_config_node_merge(root, g_steal_pointer(&tree));
	return TRUE;
}

/* Removes the key `include` from `root` and merges the `*.conf` files of the directory that it
 * names, in the order of their names.  A relative name is relative to `dir`.  A missing
 * directory counts as empty.  RDMAD_ERROR_CONFIG. */
static gboolean config_dropins_merge(RdmadConfigNode *root, const char *dir, GError **error)
{
	const RdmadConfigNode *include = rdmad_config_node_find(root, "include");
	g_autoptr(GPtrArray) names = NULL;
	g_autoptr(GError) problem = NULL;
	g_autofree char *directory = NULL;

	if (!include)
		return TRUE;
	if (include->kind != RDMAD_CONFIG_KIND_STRING || *include->string == '\0')
		return rdmad_config_error(include, NULL, error,
					  "expected the name of a directory, in quotes");
	directory = g_canonicalize_filename(include->string, dir);
	names = dropins_list(include, directory, &problem);
	for (guint i = 0; names && i < names->len; i++)
		if (!config_dropin_merge(root, include, directory, names->pdata[i], dir, &problem))
			break;
	if (problem)
		return g_propagate_error(error, g_steal_pointer(&problem)), FALSE;
	rdmad_config_node_remove(root, "include");
	return TRUE;
}

/*
 * Profiles: configurations that come with rdmad, one file each
 *
 *	profile = "vke";	or a list of them
 *
 * The main file overrides its profiles.
 */

#define SUFFIX	     ".conf"
#define PROFILES_MAX 16u

/* Returns the sorted names of all profiles.  A missing directory has none.  Returns NULL if the
 * directory cannot be read. */
static char **profiles_list(const char *dir, GError **error)
{
	g_auto(GStrv) all = dir ? rdmad_fd_list(AT_FDCWD, dir) : NULL;
	GPtrArray *names;

	if (dir && !all && errno != ENOENT && errno != ENOTDIR) {
		rdmad_error_errno(error, errno, "cannot read the directory %s", dir);
		return NULL;
	}
	names = g_ptr_array_new();
	for (char **file = all; file && *file; file++)
		if (g_str_has_suffix(*file, SUFFIX))
			g_ptr_array_add(names, g_strndup(*file, strlen(*file) - strlen(SUFFIX)));
	g_ptr_array_sort(names, compare_names);
	g_ptr_array_add(names, NULL);
	return (char **)g_ptr_array_free(names, FALSE);
}

static gboolean unknown_profile(const RdmadConfigNode *node, char *const *names, const char *dir,
				GError **error)
{
	g_autofree char *all = g_strjoinv(", ", (char **)names);
	const char *meant = rdmad_nearest(node->string, (const char *const *)names);

	if (!names[0])
		return rdmad_config_error(node, NULL, error, "no profiles in %s",
					  dir ? dir : "this place");
	if (meant)
		return rdmad_config_error(node, NULL, error,
					  "unknown profile \"%.80s\"; did you mean \"%s\"? "
					  "Known in %s: %s",
					  node->string, meant, dir, all);
	return rdmad_config_error(node, NULL, error, "unknown profile \"%.80s\"; known in %s: %s",
				  node->string, dir, all);
}

static gboolean profile_merge(RdmadConfigNode *below, const RdmadConfigNode *node, const char *dir,
			      GError **error)
{
	g_auto(GStrv) names = profiles_list(dir, error);
	g_autofree char *file = NULL;

	if (!names)
		return FALSE;
	if (!node || node->kind != RDMAD_CONFIG_KIND_STRING)
		return rdmad_config_error(node, NULL, error,
					  "expected the name of a profile, in quotes, or a list");
	if (!g_strv_contains((const char *const *)names, node->string))
		return unknown_profile(node, names, dir, error);
	file = g_strconcat(node->string, SUFFIX, NULL);
	return config_dropin_merge(below, node, dir, file, NULL, error);
}

static gboolean profiles_merge(RdmadConfigNode *below, const RdmadConfigNode *profile,
			       const char *dir, GError **error)
{
	if (profile->kind != RDMAD_CONFIG_KIND_LIST)
		return profile_merge(below, profile, dir, error);
	if (profile->children->len > PROFILES_MAX)
		return rdmad_config_error(profile, NULL, error, "more than %u profiles",
					  PROFILES_MAX);
	for (guint i = 0; i < profile->children->len; i++)
		if (!profile_merge(below, profile->children->pdata[i], dir, error))
			return FALSE;
	return TRUE;
}

/* Removes the key `profile` from `*root` and merges `*root` over the files that it names, in their
 * order.  `dir` NULL: there are no profiles.  RDMAD_ERROR_CONFIG. */
static gboolean config_profiles_merge(RdmadConfigNode **root, const char *dir, GError **error)
{
	const RdmadConfigNode *profile = rdmad_config_node_find(*root, "profile");
	g_autoptr(RdmadConfigNode) below = NULL;

	if (!profile)
		return TRUE;
	below = rdmad_config_node_new(RDMAD_CONFIG_KIND_GROUP, NULL, (*root)->file, (*root)->line);
	if (!profiles_merge(below, profile, dir, error))
		return FALSE;
	rdmad_config_node_remove(*root, "profile");
	rdmad_config_node_merge(below, *root);
	*root = g_steal_pointer(&below);
	return TRUE;
}

struct RdmadConfig {
	RdmadConfigNode *root;
};

static RdmadConfig *config_new(RdmadConfigNode *root)
{
	RdmadConfig *config = g_new0(RdmadConfig, 1);

	config->root = root;
	return config;
}

RdmadConfig *rdmad_config_new_empty(void)
{
	return config_new(rdmad_config_node_new(RDMAD_CONFIG_KIND_GROUP, NULL, "configuration", 0));
}

RdmadConfig *rdmad_config_load(const char *path, const char *profile_dir, GError **error)
{
	g_autofree char *text = NULL, *full = NULL, *dir = NULL;
	g_autoptr(RdmadConfigNode) root = NULL;
	gsize length;

	text = rdmad_config_source_read(path, &length, error);
	if (!text)
		return NULL;
	full = g_canonicalize_filename(path, NULL);
	dir = g_path_get_dirname(full);
	root = rdmad_config_tree_parse(path, text, dir, error);
	if (!root || !config_profiles_merge(&root, profile_dir, error) ||
	    !config_dropins_merge(root, dir, error))
		return NULL;
	return config_new(g_steal_pointer(&root));
}

RdmadConfig *rdmad_config_load_text(const char *name, const char *text, gsize length,
				    GError **error)
{
	g_autofree char *copy = g_strndup(text, length);
	RdmadConfigNode *root;

	if (!rdmad_config_source_check(name, text, length, error))
		return NULL;
	root = rdmad_config_tree_parse(name, copy, NULL, error);
	return root ? config_new(root) : NULL;
}

void rdmad_config_free(RdmadConfig *config)
{
	if (!config)
		return;
	rdmad_config_node_free(config->root);
	g_free(config);
}

const RdmadConfigNode *rdmad_config_root(const RdmadConfig *config)
{
	return config->root;
}
