/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of the module; the options are described in rdmad-cni(7). */
#pragma once

#include <rdmad/config.h>
#include <rdmad/device.h>

typedef enum {
	CNI_MODE_ALLOCATION, /* as the device was allocated */
	CNI_MODE_EXCLUSIVE,
	CNI_MODE_SHARED,
	CNI_MODE_SHARED_MULTI,
	CNI_MODE_SRIOV,
	CNI_MODE_IPOIB,
} CniMode;
extern const char *const cni_modes[];

/* CNI_MODE_ALLOCATION for a word that is none. */
CniMode cni_mode_parse(const char *text);

typedef enum { CNI_LINK_MACVLAN, CNI_LINK_IPVLAN } CniLinkKind;

typedef enum {
	CNI_ADDRESSES_AUTO, /* of IPAM, of the request, else of the device */
	CNI_ADDRESSES_NONE, /* none at all is fine */
} CniAddresses;

typedef enum {
	CNI_RP_FILTER_LOOSE,
	CNI_RP_FILTER_OFF,
} CniRpFilter;

/* An entry of `networks`: the way of NICs of one kind into pods. */
typedef struct {
	char *name;
	char **netdevs, **devices, **pci_addresses; /* globs; NULL: any */
	int mode;				    /* CniMode */
	int link; /* CniLinkKind: one NIC has one, the kernel refuses both */
	int macvlan_mode, ipvlan_mode, ipoib_mode; /* indexes of the words */
	gint64 mtu;				   /* 0: the parent's */
	int addresses;				   /* CniAddresses */
	int rp_filter;				   /* CniRpFilter */
	gboolean routes;			   /* those of the host's NIC as well */
	gboolean default_route;			   /* also in the main table of the pod */
	gboolean policy_routing;		   /* a table and rules for each NIC */
	gboolean dad;				   /* duplicate address detection of IPv6 */
	gboolean announce;			   /* gratuitous ARP and neighbour advertisements */
	gboolean carrier;			   /* none is an error */
	gboolean wait_gid, prove;		   /* before ADD returns */
	gboolean last_way; /* takes also the NIC that has the host's default route */
} CniPolicy;

/* "bridge", "l2", "datagram", .. */
const char *cni_policy_macvlan_mode(const CniPolicy *policy);
const char *cni_policy_ipvlan_mode(const CniPolicy *policy);
const char *cni_policy_ipoib_mode(const CniPolicy *policy);

/* Immutable once parsed; requests keep those with which they began. */
typedef struct {
	int refs;
	char *socket;		    /* NULL: cni.sock in the run directory */
	char *spool_dir;	    /* NULL: where the shim has it */
	char **plugin_path;	    /* of IPAM plugins, behind CNI_PATH; NULL: none */
	int annotation_from;	    /* 0: the runtime; 1: where that passes none, the API server */
	char **annotation_networks; /* cniConf.name of the entries that are ours; globs */
	gint64 requests, queue;	    /* at once, and waiting */
	guint64 request_timeout_ms, ipam_timeout_ms, gid_timeout_ms, carrier_timeout_ms;
	gint64 table_base, rule_priority; /* of the first NIC of a pod */
	GPtrArray *policies;		  /* of CniPolicy; the last takes every device */
	const RdmadConfigNode *networks;  /* only while parsing */
} CniSettings;

/* `config` NULL: the defaults. */
CniSettings *cni_settings_parse(const RdmadConfigNode *config, GError **error);
CniSettings *cni_settings_ref(CniSettings *settings);
void cni_settings_unref(CniSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniSettings, cni_settings_unref)

/* The first one whose patterns take the device and its interface; never NULL. */
const CniPolicy *cni_settings_policy(const CniSettings *settings, const RdmadDevice *dev,
				     const char *netdev);
/* NULL: there is none of that name. */
const CniPolicy *cni_settings_policy_named(const CniSettings *settings, const char *name);
