/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module; the options are described in device-plugin.c. */
#pragma once

#include <rdmad/config.h>

#include "selector/selector.h"

/* So many slots of 63 characters with a NUMA node stay below the 4 MiB that kubelet reads at once. */
#define RDMAD_RESOURCE_SLOTS_MAX 32768u

/* Of one pod on one device, see rdma-limits.h; 0: none. */
typedef struct {
	gint64 hca_handle, hca_object;
} RdmadRdmaLimits;

typedef enum {
	RDMAD_MODE_SHARED,
	RDMAD_MODE_EXCLUSIVE,
	RDMAD_MODE_SHARED_MULTI, /* shared, and each slot becomes an interface of its own */
} RdmadResourceMode;
/* "shared", "exclusive", "shared-multi", NULL */
extern const char *const rdmad_resource_modes[];

typedef enum { RDMAD_COUNT_PER_POOL, RDMAD_COUNT_PER_DEVICE } RdmadCountPer;
typedef enum { RDMAD_CDI_OFF, RDMAD_CDI_ON } RdmadCdiUse;
typedef enum { RDMAD_EXPOSE_DEVICE, RDMAD_EXPOSE_POOL } RdmadExpose;
typedef enum { RDMAD_IDS_STABLE, RDMAD_IDS_NAME } RdmadIds;

/* One entry of `resources`, shared by reference; immutable once parsed, but for `mode`. */
typedef struct {
	int refs;
	char *name;	    /* "rdma/hca" */
	int mode;	    /* RdmadResourceMode; follows `mode_from` */
	char *mode_from;    /* the fact that says the mode, or NULL */
	int count_per;	    /* RdmadCountPer */
	gint64 count;	    /* of shared */
	gint64 multi_count; /* of shared-multi, for each device */
	int expose;	    /* RdmadExpose */
	int ids;	    /* RdmadIds */
	gboolean numa;	    /* tell kubelet the NUMA nodes */
	gboolean busy_pfs;  /* take PFs whose virtual functions are in use, too */
	char **shared_with; /* resources that may have the same devices; may be NULL */
	RdmadSelector selector;
	gboolean ignore_health;	    /* a device that is there is healthy */
	gboolean umad, issm, ucm;   /* also hand out these device nodes */
	char *permissions;	    /* "rw" */
	int cdi;		    /* RdmadCdiUse */
	gboolean nccl_hca;	    /* NCCL_IB_HCA in Allocate's answer */
	gboolean host_network_only; /* refuse other containers at their start */
	RdmadRdmaLimits limits;
	const RdmadConfigNode *selectors;   /* only while parsing */
	const RdmadConfigNode *rdma_limits; /* only while parsing */
} RdmadResourceSettings;

RdmadResourceSettings *rdmad_resource_settings_ref(RdmadResourceSettings *settings);
void rdmad_resource_settings_unref(RdmadResourceSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadResourceSettings, rdmad_resource_settings_unref)

typedef enum {
	RDMAD_REGISTRATION_AUTO, /* plugins_registry where kubelet has it */
	RDMAD_REGISTRATION_LEGACY,
	RDMAD_REGISTRATION_REGISTRY,
} RdmadRegistrationWay;

typedef struct {
	int registration; /* RdmadRegistrationWay */
	char *socket_prefix;
	char *device_info_dir; /* empty: none; NULL: where Multus looks, of this node itself */
	char *cdi_dir;	       /* likewise, where runtimes look */
	guint64 health_delay_ms;
	guint64 forget_delay_ms;
	gboolean prestart;
	char *cri_socket;
	const RdmadConfigNode *resource_list, *defaults; /* only while parsing */
	GPtrArray *resources;				 /* of RdmadResourceSettings */
} RdmadPluginSettings;

/* `config` NULL: one shared resource rdma/hca over every Ethernet and InfiniBand device. */
RdmadPluginSettings *rdmad_plugin_settings_parse(const RdmadConfigNode *config, GError **error);
void rdmad_plugin_settings_free(RdmadPluginSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPluginSettings, rdmad_plugin_settings_free)
