/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime's request: the environment and the standard input of a plugin, checked
 *
 * A variable that is set and empty is absent: libcni sets all of them for GC and STATUS.  Of DEL
 * only what names the attachment is checked, because what is in the way of a DEL keeps a pod from
 * its end.  Keys that are not known are passed over, and kept for the IPAM plugin.
 */
#pragma once

#include <rdmad/address.h>

#include "result.h"

#define CNI_ENVIRONMENT_MAX (64u << 10) /* bytes */
#define CNI_STDIN_MAX	    (1u << 20)	/* annotations alone may have 256 KiB */
#define CNI_STDIN_DEPTH	    32u
#define CNI_ATTACHMENTS_MAX 65536u /* of a GC */

#define CNI_VALID_ATTACHMENTS "cni.dev/valid-attachments"
#define CNI_OLDER_ATTACHMENTS "cni.dev/attachments" /* libcni writes both */

typedef enum {
	CNI_ADD,
	CNI_DEL,
	CNI_CHECK,
	CNI_GC,
	CNI_STATUS,
	CNI_VERSION,
	CNI_N_COMMANDS,
} CniCommand;

/* An attachment as the runtime names it. */
typedef struct {
	char *container_id, *ifname;
} CniAttachmentKey;

/* Keys of the network's configuration that stand above those of rdmad.conf; NULL, 0 and -1: absent. */
typedef struct {
	char *policy;	/* the entry of `networks` in rdmad.conf */
	char *mode;	/* "shared", "exclusive", ...: it must be the policy's */
	char *resource; /* whose allocation is meant */
	guint32 mtu;
	gint64 vlan, vlan_qos;	   /* of a virtual function */
	guint32 vlan_protocol;	   /* ETH_P_* */
	int spoof_check, trust;	   /* 1, 0, -1 */
	int link_state;		   /* IFLA_VF_LINK_STATE_*, -1 */
	gint64 min_rate, max_rate; /* Mbit/s */
	guint32 pkey;		   /* of an IPoIB child; 0: the parent's */
} CniNetworkKeys;

typedef struct {
	CniCommand command;
	CniVersion version; /* in which the answer is told; the newest until it is known */
	char *container_id, *netns, *ifname;	  /* NULL: absent */
	char *path;				  /* CNI_PATH */
	char *pod_namespace, *pod_name, *pod_uid; /* of CNI_ARGS */
	char **environment;			  /* as received, for the IPAM plugin */
	struct json_t *config;			  /* likewise, with all its keys */
	char *network;				  /* name of the network */
	char *ipam_type;			  /* NULL: the device's own addresses */
	char *device_id;	/* runtimeConfig.deviceID, else deviceID, else pciBusID */
	char *device_info_file; /* runtimeConfig.CNIDeviceInfoFile */
	RdmadMac mac;		/* runtimeConfig.mac, else MAC of CNI_ARGS */
	GArray *ips;		/* of RdmadIp: runtimeConfig.ips */
	guint64 guid;		/* runtimeConfig.infinibandGUID; 0: none */
	char *pod_networks;	/* the annotation k8s.volcengine.com/pod-networks */
	CniNetworkKeys keys;
	CniResult *previous; /* prevResult; of a DEL, NULL also when it is malformed */
	GArray *valid;	     /* GC: of CniAttachmentKey; may be empty, then none is valid */
} CniRequest;

extern const CniNetworkKeys cni_network_keys_none;

/* Those of virtual functions are called as in sriov-cni, so that its networks carry over.
 * CNI_ERROR_CONFIG names the key. */
gboolean cni_network_keys_parse(const struct json_t *config, CniNetworkKeys *keys, GError **error);
void cni_network_keys_clear(CniNetworkKeys *keys);

/* "0c:42:a1:00:00:65:43:21", "0c42a10000654321" or "0x0c42a10000654321"; neither 0 nor all ones. */
gboolean cni_guid_parse(const char *text, guint64 *guid);

/*
 * Never NULL: after an error the part parsed before it, so that the answer can be in the caller's
 * version.  `environment`: "NAME=value" with a NUL behind each.
 * CNI_ERROR_VERSION, CNI_ERROR_ENVIRONMENT, CNI_ERROR_DECODE, CNI_ERROR_CONFIG.
 */
CniRequest *cni_request_parse(const char *environment, gsize environment_length, const char *input,
			      gsize input_length, GError **error);
void cni_request_free(CniRequest *request);
/* Whether it is for the pod of that namespace and name. */
gboolean cni_request_is_for(const CniRequest *request, const char *pod_namespace,
			    const char *pod_name);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniRequest, cni_request_free)

/* "ADD" */
const char *cni_command_name(CniCommand command);
