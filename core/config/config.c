/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config-private.h"

#include <rdmad/error.h>

#include "config/dropins.h"
#include "config/node.h"
#include "config/profiles.h"
#include "config/source.h"
#include "config/tree.h"

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
	if (!root || !rdmad_config_profiles_merge(&root, profile_dir, error) ||
	    !rdmad_config_dropins_merge(root, dir, error))
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
