/* SPDX-License-Identifier: Apache-2.0 */
#include "config/profiles.h"

#include <rdmad/error.h>
#include <string.h>

#include "config/dropins.h"
#include "config/nearest.h"

#define SUFFIX	     ".conf"
#define PROFILES_MAX 16u

static int name_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of all, sorted; NULL-terminated.  No directory has none; NULL: it cannot be read. */
static char **profiles_list(const char *dir, GError **error)
{
	GPtrArray *names = g_ptr_array_new();
	g_autoptr(GError) problem = NULL;
	GDir *folder = dir ? g_dir_open(dir, 0, &problem) : NULL;
	const char *file;

	if (problem && !g_error_matches(problem, G_FILE_ERROR, G_FILE_ERROR_NOENT) &&
	    !g_error_matches(problem, G_FILE_ERROR, G_FILE_ERROR_NOTDIR)) {
		g_ptr_array_unref(names);
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, problem->message);
		return NULL;
	}
	while (folder && (file = g_dir_read_name(folder)) != NULL)
		if (g_str_has_suffix(file, SUFFIX))
			g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(SUFFIX)));
	g_clear_pointer(&folder, g_dir_close);
	g_ptr_array_sort(names, name_compare);
	g_ptr_array_add(names, NULL);
	return (char **)g_ptr_array_free(names, FALSE);
}

static gboolean unknown_profile(const RdmadConfigNode *node, char *const *names, const char *dir,
				GError **error)
{
	g_autofree char *all = g_strjoinv(", ", (char **)names);
	const char *meant = rdmad_config_nearest(node->string, (const char *const *)names);

	if (!names[0])
		return rdmad_config_error(node, NULL, error, "there are no profiles in %s",
					  dir ? dir : "this place");
	if (meant)
		return rdmad_config_error(node, NULL, error,
					  "\"%.80s\" is no profile; did you mean \"%s\"? There are "
					  "in %s: %s",
					  node->string, meant, dir, all);
	return rdmad_config_error(node, NULL, error, "\"%.80s\" is no profile; there are in %s: %s",
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
	return rdmad_config_dropin_merge(below, dir, file, NULL, error);
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

gboolean rdmad_config_profiles_merge(RdmadConfigNode **root, const char *dir, GError **error)
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
