/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module; the options are described in device-plugin.c. */
#pragma once

#include <rdmad/config.h>

#include "selector/selector.h"

/* A list of this many slots with IDs of 63 characters and NUMA nodes stays below 4 MiB, the
 * largest message that kubelet reads. */
#define RESOURCE_SLOTS_MAX 32768u

/* Limits of one pod on one device, see rdma-limits.h; 0: none. */
typedef struct {
	gint64 hca_handle, hca_object;
} RdmaLimits;

typedef enum {
	MODE_SHARED,
	MODE_EXCLUSIVE,
	MODE_SHARED_MULTI, /* shared, and each slot becomes an interface of its own */
} ResourceMode;
/* "shared", "exclusive", "shared-multi", NULL */
extern const char *const resource_modes[];

typedef enum { COUNT_PER_POOL, COUNT_PER_DEVICE } CountPer;
typedef enum { CDI_OFF, CDI_ON } CdiUse;
typedef enum { EXPOSE_DEVICE, EXPOSE_POOL } Expose;
typedef enum { IDS_STABLE, IDS_NAME } Ids;

/* One entry of `resources`, shared by reference; immutable after parsing, except `mode`. */
typedef struct {
	int refs;
	char *name;	    /* "rdma/hca" */
	int mode;	    /* ResourceMode; follows `mode_from` */
	char *mode_from;    /* attribute with the mode, or NULL */
	int count_per;	    /* CountPer */
	gint64 count;	    /* MODE_SHARED */
	gint64 multi_count; /* MODE_SHARED_MULTI, slots of each device */
	int expose;	    /* Expose */
	int ids;	    /* Ids */
	gboolean numa;	    /* report NUMA nodes to kubelet */
	gboolean busy_pfs;  /* include PFs whose virtual functions are in use */
	char **shared_with; /* resources that may have the same devices; may be NULL */
	Selector selector;
	gboolean ignore_health;	    /* a present device with uverbs is healthy */
	gboolean umad, issm, ucm;   /* include these device files, too */
	char *permissions;	    /* "rw" */
	int cdi;		    /* CdiUse */
	gboolean nccl_hca;	    /* in Allocate's response */
	gboolean smcr_pnet;	    /* SMCR_PNET in it */
	gboolean host_network_only; /* refuse other containers at their start */
	RdmaLimits limits;
	const RdmadConfigNode *selectors;   /* only while parsing */
	const RdmadConfigNode *rdma_limits; /* only while parsing */
} ResourceSettings;

ResourceSettings *resource_settings_ref(ResourceSettings *settings);
void resource_settings_unref(ResourceSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResourceSettings, resource_settings_unref)

typedef enum {
	REGISTRATION_AUTO, /* plugins_registry if kubelet has it */
	REGISTRATION_LEGACY,
	REGISTRATION_REGISTRY,
} RegistrationMethod;

typedef struct {
	int registration; /* RegistrationMethod */
	char *socket_prefix;
	char *device_info_dir; /* empty: none; NULL: the default directory on this node */
	char *cdi_dir;	       /* likewise, of CDI specifications */
	guint64 health_delay_ms;
	guint64 forget_delay_ms;
	gboolean prestart;
	char *cri_socket;
	const RdmadConfigNode *resource_list, *defaults; /* only while parsing */
	GPtrArray *resources;				 /* of ResourceSettings */
} PluginSettings;

/* `config` NULL: one shared resource rdma/hca over every Ethernet and InfiniBand device. */
PluginSettings *plugin_settings_parse(const RdmadConfigNode *config, GError **error);
void plugin_settings_free(PluginSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PluginSettings, plugin_settings_free)
