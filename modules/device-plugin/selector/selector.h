/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selector: the devices of a resource
 *
 * It selects NICs.  A management function of a switch (RdmadDeviceRole) is selected only if a
 * pattern without wildcard of `names`, `pci_addresses`, `guids` or `netdevs` names it, a
 * sub-device never.
 *
 * A selector is a group of keys (key.h), or a list of groups of which one must match.  Each key is
 * a list of patterns with `*` and `?`; "!x" excludes what x matches.  A group matches a device if
 * all of its keys match and no group of its `exclude` does.  A key matches if the device matches
 * one of its patterns (or it has only "!x") and none of its "!x".
 */
#pragma once

#include <rdmad/config.h>

#include "selector/key.h"

typedef struct {
	GPtrArray *groups; /* NULL: every device */
} Selector;

/* `node`: a group, a list of them, or NULL; `out` is zeroed or cleared. */
gboolean selector_parse(const RdmadConfigNode *node, Selector *out, GError **error);
/* Sets one group with one key. */
void selector_set(Selector *selector, SelectKey key, const char *const *patterns);
void selector_clear(Selector *selector);
gboolean selector_equal(const Selector *a, const Selector *b);

gboolean selector_takes(const Selector *selector, const RdmadDevice *dev);
/* Returns the reason why the device is not selected, for people ("names: mlx5_4 matches none of
 * \"mlx5_3\""); NULL: it is selected. */
char *selector_refusal(const Selector *selector, const RdmadDevice *dev);
/* Returns whether a port of a selected device counts: it has the link layer, the P_Key and one of
 * the interfaces that the selector names. */
gboolean selector_takes_port(const Selector *selector, const RdmadDevice *dev,
			     const RdmadPort *port);
/* Calls `fn` for each pattern (except "!x") that matches none of the devices. */
void selector_foreach_unused(const Selector *selector, const GPtrArray *devices,
			     void (*fn)(const char *key, const char *pattern, gpointer data),
			     gpointer data);
