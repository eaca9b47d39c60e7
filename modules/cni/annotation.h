/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation k8s.volcengine.com/pod-networks: the networks of a pod beside its first one
 *
 *	[ { "cniConf": { "name": "rdma" },
 *	    "deviceConf": { "ifName": "eth1", "ips": [ "192.0.2.7/24" ], "mac": "..",
 *	                    "options": { "vlanID": "100" } },
 *	    "traffic": { "routes": { "extraRoutes": [ { "dst": "..", "gw": ".." } ],
 *	                             "default": true } } } ]
 *
 * Entry n (from 0) defaults to the name eth<n+1>: eth0 is the pod's first interface.  A first
 * entry with "master": true is that interface, and the names of the others begin with eth1.
 * Unknown keys belong to other readers of the annotation.
 */
#pragma once

#include <rdmad/address.h>

#define CNI_ANNOTATION_ENTRIES_MAX 64u

typedef struct {
	RdmadIp to, gateway;
} CniAnnotationRoute;

typedef struct {
	char *network; /* cniConf.name, or NULL */
	char *ifname;
	gboolean is_first; /* the pod's first interface, which another plugin has made */
	RdmadMac mac;
	GArray *ips;	/* of RdmadIp */
	GArray *routes; /* of CniAnnotationRoute */
	gboolean default_route;
	gint64 vlan; /* -1: none */
} CniAnnotationEntry;

/* Returns a GPtrArray that owns its CniAnnotationEntry.  CNI_ERROR_CONFIG names the entry and the
 * key. */
GPtrArray *cni_annotation_parse(const char *text, GError **error);
