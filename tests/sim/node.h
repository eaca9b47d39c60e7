/* SPDX-License-Identifier: Apache-2.0 */
/* The node's configuration of rdmad: what it offers, and of which devices. */
#pragma once

#include "daemon/options.h"

#define NODE_RESOURCES 3u

typedef struct {
	const char *name;
	gboolean is_exclusive;
	guint first, last;    /* its devices */
	guint slots;	      /* in all */
	gboolean has_network; /* its pods get NICs, where the node has CNI */
} NodeResource;

extern const NodeResource node_resources[NODE_RESOURCES];
const NodeResource *node_resource(const char *name);

/* Makes its directories below `root`, empty but for the configuration; state and CDI are on the disk, below
 * "disk". */
void node_begin(const char *root, gboolean has_cni);
/* The plugin of this configuration wants PreStartContainer. */
void node_set_pre_start(gboolean has_pre_start);
gboolean node_has_cni(void);
const RdmadOptions *node_options(void);
/* What a reload finds. */
typedef enum { NODE_CONFIG_SAME, NODE_CONFIG_MORE, NODE_CONFIG_BROKEN } NodeConfig;
void node_configure(NodeConfig config);
/* The directory is in memory: nothing of it outlives the boot. */
void node_clear_run(void);
/* Paths that are borrowed. */
const char *node_run_dir(void);
const char *node_state_dir(void);
const char *node_cdi_dir(void);
