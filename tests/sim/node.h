/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad's configuration of the node: the resources and their devices */
#pragma once

#include "daemon/options.h"

#define NODE_RESOURCES 4u

typedef struct {
	const char *name;
	gboolean is_exclusive;
	guint devices;	      /* a bit for each of its devices; 0: the configuration lacks it */
	gboolean has_network; /* its pods get NICs if the node has CNI */
} NodeResource;

/* The resources of the present layout. */
extern NodeResource node_resources[NODE_RESOURCES];
const NodeResource *node_resource(const char *name);
/* Returns the number of slots that a device has when nobody holds one. */
guint node_slots_per_device(const NodeResource *resource);
/* Returns the number of resources that the configuration has. */
guint node_resources_offered(void);

/* The layouts have the same devices under other names and in other modes; the first is that of the
 * begin. */
#define NODE_LAYOUTS 6u
void node_set_layout(guint layout);

/* The modules beside device-plugin, and what MORE does to them. */
typedef enum {
	NODE_CNI = 1 << 0,
	NODE_ERDMA = 1 << 1,	  /* MORE has a static address */
	NODE_METRICS = 1 << 2,	  /* MORE has other settings ... */
	NODE_METRICS_GO = 1 << 3, /* ... or lacks the module */
	NODE_NCCL = 1 << 4,	  /* MORE wants a topology */
	NODE_KUBE = 1 << 5,
} NodeModules;

/* Makes the directories below `root`, empty except for the configuration, which has no such module;
 * state and CDI are on the disk, below "disk". */
void node_begin(const char *root);
void node_add(NodeModules modules);
gboolean node_has(NodeModules module);
/* The plugin of this configuration wants PreStartContainer. */
void node_set_pre_start(gboolean has_pre_start);
/* It says that the plugin calls Register, also where there is a plugins_registry. */
void node_set_legacy(gboolean is_legacy);
/* Call before the first run: rdmad logs at level debug. */
void node_set_verbose(void);
const RdmadOptions *node_options(void);
/* The same, of an rdmad that takes over from another one. */
const RdmadOptions *node_successor_options(void);
/* Returns the name of the instance (daemon/instance.h). */
const char *node_instance(void);
/* The configuration that a reload reads.  MORE has one more resource, and a static address of the
 * second NIC in the place of the metadata service's. */
#define NODE_STATIC_NIC	    1u
#define NODE_STATIC_ADDRESS "10.8.3.77/24"
typedef enum { NODE_CONFIG_SAME, NODE_CONFIG_MORE, NODE_CONFIG_BROKEN } NodeConfig;
void node_configure(NodeConfig config);
/* Empties the run directory, which does not survive a boot. */
void node_clear_run(void);
/* Return borrowed paths. */
const char *node_run_dir(void);
const char *node_state_dir(void);
const char *node_cdi_dir(void);
