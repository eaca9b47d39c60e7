/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subset of YAML that kubectl and people write, parsed to a tree with line numbers: no aliases;
 * keys are unique strings
 */
#pragma once

#include <glib.h>

typedef enum { RDMAD_YAML_TEXT, RDMAD_YAML_LIST, RDMAD_YAML_MAP } RdmadYamlType;

typedef struct {
	RdmadYamlType type;
	guint line, column;  /* from 1 */
	char *key;	     /* in a MAP, else NULL */
	char *text;	     /* TEXT: UTF-8 */
	gboolean plain;	     /* TEXT without quotes, possibly a number, boolean or null */
	GPtrArray *children; /* LIST, MAP: of RdmadYaml, in order */
} RdmadYaml;

/* Returns the documents of a text as an array of RdmadYaml.  The message of RDMAD_ERROR_INVALID
 * begins with "`place`:line:column: ". */
GPtrArray *rdmad_yaml_parse(const char *place, const char *text, gsize size, GError **error);
/* Returns whether a text is a plain null: "", "~", "null". */
gboolean rdmad_yaml_is_null(const RdmadYaml *node);
