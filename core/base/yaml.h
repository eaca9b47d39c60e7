/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as kubectl and people write it, as a tree with line numbers: no aliases; keys are strings
 * and unique.
 */
#pragma once

#include <glib.h>

typedef enum { RDMAD_YAML_TEXT, RDMAD_YAML_LIST, RDMAD_YAML_MAP } RdmadYamlType;

typedef struct {
	RdmadYamlType type;
	guint line, column;  /* from 1 */
	char *key;	     /* in a MAP, else NULL */
	char *text;	     /* TEXT: UTF-8 */
	gboolean plain;	     /* TEXT without quotes: a number, true or null may be meant */
	GPtrArray *children; /* LIST, MAP: of RdmadYaml, in their order */
} RdmadYaml;

/* The documents of a text, of RdmadYaml.  RDMAD_ERROR_INVALID begins with "`place`:line:column: ". */
GPtrArray *rdmad_yaml_parse(const char *place, const char *text, gsize size, GError **error);
/* A plain text that stands for nothing: "", "~", "null". */
gboolean rdmad_yaml_is_null(const RdmadYaml *node);
