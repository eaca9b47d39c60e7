/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation k8s.volcengine.com/pod-networks: which networks a pod has beside its first one
 *
 *	[ { "cniConf": { "name": "rdma" },
 *	    "deviceConf": { "ifName": "eth1", "ips": [ "192.0.2.7/24" ], "mac": "..",
 *	                    "options": { "vlanID": 100 } },
 *	    "traffic": { "routes": { "extraRoutes": [ { "dst": "..", "gw": ".." } ],
 *	                             "default": true } } } ]
 *
 * Entry n (from 0) is called eth<n+1> where it does not say otherwise: eth0 is the pod's first
 * interface.  Keys that are not known belong to the other plugins that read this.
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
	char *device_id; /* master, "0000:3b:00.0" or "0000:3b:00.0@7"; NULL: the next one */
	RdmadMac mac;
	GArray *ips;	/* of RdmadIp */
	GArray *routes; /* of CniAnnotationRoute */
	gboolean default_route;
	gint64 vlan; /* -1: none */
} CniAnnotationEntry;

/* A GPtrArray of CniAnnotationEntry that frees them.  CNI_ERROR_CONFIG names entry and key. */
GPtrArray *cni_annotation_parse(const char *text, GError **error);
