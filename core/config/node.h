/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a configuration: built from libconfig or YAML, merged, then read-only */
#pragma once

#include <rdmad/config.h>

typedef enum {
	RDMAD_CONFIG_KIND_BOOL,
	RDMAD_CONFIG_KIND_INT,
	RDMAD_CONFIG_KIND_FLOAT,
	RDMAD_CONFIG_KIND_STRING,
	RDMAD_CONFIG_KIND_GROUP,
	RDMAD_CONFIG_KIND_LIST,	   /* libconfig's arrays too */
	RDMAD_CONFIG_KIND_NOTHING, /* YAML's null */
} RdmadConfigKind;

struct RdmadConfigNode {
	RdmadConfigKind kind;
	RdmadConfigNode *parent;
	char *name; /* NULL: the root, or an entry of a list */
	char *file; /* GRefString */
	guint line;
	gboolean shared;     /* set by rdmad_config_parse_shared(): accepted by all tables */
	gint64 integer;	     /* BOOL, INT */
	double real;	     /* FLOAT */
	char *string;	     /* STRING; in YAML every scalar, as written */
	gboolean yaml;	     /* may contain secrets: messages name the key, never the value */
	GPtrArray *children; /* GROUP, LIST; owned */
};

RdmadConfigNode *rdmad_config_node_new(RdmadConfigKind kind, const char *name, const char *file,
				       guint line);
void rdmad_config_node_free(RdmadConfigNode *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadConfigNode, rdmad_config_node_free)

/* Takes `child` over. */
void rdmad_config_node_add(RdmadConfigNode *parent, RdmadConfigNode *child);
RdmadConfigNode *rdmad_config_node_find(const RdmadConfigNode *group, const char *key);
void rdmad_config_node_remove(RdmadConfigNode *group, const char *key);
/* Merges groups; every other value replaces the earlier one.  Takes `from` over. */
void rdmad_config_node_merge(RdmadConfigNode *into, RdmadConfigNode *from);

/* Returns "modules.device-plugin.resources[0].count"; empty for the root. */
char *rdmad_config_node_path(const RdmadConfigNode *node);
/* Returns a description for messages: "the integer 5", "a group". */
char *rdmad_config_node_describe(const RdmadConfigNode *node);
