/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selector: which devices a resource is made of
 *
 * A group of keys (key.h), or a list of groups of which any may take the device.  Each key
 * is a list of patterns with `*` and `?`; "!x" refuses what x matches.  A group takes a device when
 * every key that is given agrees: the device matches one of the key's patterns (or the key has only
 * "!x") and none of its "!x"; and when none of the groups of its `exclude` takes the device.
 */
#pragma once

#include <rdmad/config.h>

#include "selector/key.h"

typedef struct {
	GPtrArray *groups; /* NULL: every device */
} Selector;

/* `node`: a group, a list of them, or NULL; `out` is zeroed or cleared. */
gboolean selector_parse(const RdmadConfigNode *node, Selector *out, GError **error);
/* One group with one key. */
void selector_set(Selector *selector, SelectKey key, const char *const *patterns);
void selector_clear(Selector *selector);
gboolean selector_equal(const Selector *a, const Selector *b);

gboolean selector_takes(const Selector *selector, const RdmadDevice *dev);
/* Reason why the device is not selected, for people ("names: mlx5_4 matches none of \"mlx5_3\"");
 * NULL: it is. */
char *selector_refusal(const Selector *selector, const RdmadDevice *dev);
/* Whether a port of a selected device counts: it has the link layer and the P_Key. */
gboolean selector_takes_port(const Selector *selector, const RdmadDevice *dev,
			     const RdmadPort *port);
/* Calls `fn` for each pattern (but "!x") that matches none of the devices. */
void selector_foreach_vain(const Selector *selector, const GPtrArray *devices,
			   void (*fn)(const char *key, const char *pattern, gpointer data),
			   gpointer data);
