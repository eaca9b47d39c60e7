/* SPDX-License-Identifier: Apache-2.0 */
/* One group of selector keys, as the configuration has it; what it takes is in selector.c. */
#pragma once

#include <rdmad/config.h>

#include "selector/key.h"

typedef struct {
	char **patterns[RDMAD_SELECT_N];     /* NULL: the key is not given */
	GPtrArray *exclude;		     /* of these, which have none themselves; may be NULL */
	const RdmadConfigNode *exclude_node; /* only while parsing */
} RdmadSelectorGroup;

/* A group or a list of groups; NULL for none.  On an error `out` is to be freed, too. */
gboolean rdmad_selector_groups_parse(const RdmadConfigNode *node, GPtrArray **out, GError **error);
/* One group with one key. */
GPtrArray *rdmad_selector_groups_of(RdmadSelectKey key, const char *const *patterns);
/* Either may be NULL. */
gboolean rdmad_selector_groups_equal(const GPtrArray *a, const GPtrArray *b);

gboolean rdmad_pattern_is_negative(const char *pattern);
/* Without the "!". */
const char *rdmad_pattern_text(const char *pattern);
