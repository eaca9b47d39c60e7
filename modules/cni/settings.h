/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module; rdmad-cni(7) describes the options. */
#pragma once

#include <rdmad/config.h>
#include <rdmad/device.h>

typedef enum {
	CNI_MODE_ALLOCATION, /* the mode of the allocation */
	CNI_MODE_EXCLUSIVE,
	CNI_MODE_SHARED,
	CNI_MODE_SHARED_MULTI,
	CNI_MODE_SRIOV,
	CNI_MODE_IPOIB,
} CniMode;
extern const char *const cni_modes[];

/* Returns CNI_MODE_ALLOCATION for an unknown word. */
CniMode cni_mode_parse(const char *text);
/* Returns whether the NIC itself goes into the pod. */
gboolean cni_mode_moves_nic(CniMode mode);

typedef enum { CNI_LINK_MACVLAN, CNI_LINK_IPVLAN } CniLinkKind;

typedef enum {
	CNI_ADDRESSES_AUTO, /* from IPAM, the request, or the device */
	CNI_ADDRESSES_NONE, /* a NIC may have none */
} CniAddresses;

typedef enum {
	CNI_RP_FILTER_LOOSE,
	CNI_RP_FILTER_OFF,
} CniRpFilter;

/* An entry of `networks`: how NICs that match are given to pods. */
typedef struct {
	char *name;
	char **netdevs, **devices, **pci_addresses; /* globs; NULL: match any */
	int mode;				    /* CniMode */
	int link; /* CniLinkKind; the kernel allows one kind on a NIC */
	int macvlan_mode, ipvlan_mode, ipoib_mode; /* indexes into the names */
	gint64 mtu;				   /* 0: the parent's */
	int addresses;				   /* CniAddresses */
	int rp_filter;				   /* CniRpFilter */
	gboolean routes;			   /* copy those of the host's NIC */
	gboolean default_route;			   /* in the pod's main table, too */
	gboolean policy_routing;		   /* a table and rules for each NIC */
	gboolean dad;				   /* duplicate address detection of IPv6 */
	gboolean announce;			   /* gratuitous ARP and neighbour advertisements */
	gboolean carrier;			   /* a missing carrier is an error */
	gboolean wait_gid, prove;		   /* before ADD returns */
	gboolean last_way; /* also moves the NIC with the host's default route */
} CniPolicy;

/* "bridge", "l2", "datagram", .. */
const char *cni_policy_macvlan_mode(const CniPolicy *policy);
const char *cni_policy_ipvlan_mode(const CniPolicy *policy);
const char *cni_policy_ipoib_mode(const CniPolicy *policy);

/* Immutable once parsed; a request keeps the settings it started with. */
typedef struct {
	int refs;
	char *socket;	     /* NULL: cni.sock in the run directory */
	char *spool_dir;     /* NULL: cni-spool in the state directory */
	char **plugin_path;  /* of IPAM plugins, after CNI_PATH; NULL: none */
	int annotation_from; /* 0: the runtime; 1: the API server if the runtime passes none */
	char **annotation_networks; /* globs for the cniConf.name of rdmad's entries */
	gint64 requests, queue;	    /* running and queued */
	guint64 request_timeout_ms, ipam_timeout_ms, gid_timeout_ms, carrier_timeout_ms;
	gint64 table_base, rule_priority; /* of the first NIC of a pod */
	GPtrArray *policies;		  /* of CniPolicy; the last matches every device */
	const RdmadConfigNode *networks;  /* only while parsing */
} CniSettings;

/* `config` NULL: the defaults. */
CniSettings *cni_settings_parse(const RdmadConfigNode *config, GError **error);
CniSettings *cni_settings_ref(CniSettings *settings);
void cni_settings_unref(CniSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniSettings, cni_settings_unref)

/* Returns the first policy whose patterns match the device and its interface; never NULL. */
const CniPolicy *cni_settings_policy(const CniSettings *settings, const RdmadDevice *dev,
				     const char *netdev);
/* Returns NULL if no policy has that name. */
const CniPolicy *cni_settings_policy_named(const CniSettings *settings, const char *name);
