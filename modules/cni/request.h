/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime's request: the environment and the standard input of a plugin, validated
 *
 * An empty variable counts as unset: libcni sets all of them for GC and STATUS.  Of a DEL only the
 * names of the attachment are validated, because a DEL that fails keeps a pod from terminating.
 * Unknown keys are ignored, and kept for the IPAM plugin.
 */
#pragma once

#include <rdmad/address.h>

#include "result.h"

#define CNI_ENVIRONMENT_MAX (64u << 10) /* bytes */
#define CNI_STDIN_MAX	    (1u << 20)	/* annotations alone may take 256 KiB */
#define CNI_STDIN_DEPTH	    32u
#define CNI_ATTACHMENTS_MAX 65536u /* in a GC */

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

/* The names of an attachment in a GC. */
typedef struct {
	char *container_id, *ifname;
} CniAttachmentKey;

/* Keys of the network configuration that override rdmad.conf; NULL, 0 and -1: absent. */
typedef struct {
	char *policy;	/* the entry of `networks` in rdmad.conf */
	char *mode;	/* "shared", "exclusive", ...; must equal the policy's */
	char *resource; /* resource whose allocation is used */
	guint32 mtu;
	gint64 vlan, vlan_qos;	   /* of a virtual function */
	guint32 vlan_protocol;	   /* ETH_P_* */
	int spoof_check, trust;	   /* 1, 0, -1 */
	int link_state;		   /* IFLA_VF_LINK_STATE_*, -1 */
	gint64 min_rate, max_rate; /* Mbit/s */
	guint32 pkey;		   /* of an IPoIB child; 0: the parent's */
	int nic_ranges;		   /* IPAM allocates from the subnets of each NIC */
} CniNetworkKeys;

typedef struct {
	CniCommand command;
	gboolean is_void;   /* DEL: no attachment has these names, because each ADD was refused */
	CniVersion version; /* of the answer; CNI_NEWEST until parsed */
	char *container_id, *netns, *ifname;	  /* NULL: absent */
	char *path;				  /* CNI_PATH */
	char *pod_namespace, *pod_name, *pod_uid; /* of CNI_ARGS */
	char **environment;			  /* as received, for the IPAM plugin */
	struct json_t *config;			  /* as received, with all keys */
	char *network;				  /* name of the network */
	char *ipam_type;			  /* NULL: the device's own addresses */
	char *device_id;    /* runtimeConfig.deviceID, else deviceID, else pciBusID */
	RdmadMac mac;	    /* runtimeConfig.mac, else MAC of CNI_ARGS */
	GArray *ips;	    /* of RdmadIp: runtimeConfig.ips */
	guint64 guid;	    /* runtimeConfig.infinibandGUID; 0: none */
	char *pod_networks; /* the annotation k8s.volcengine.com/pod-networks */
	CniNetworkKeys keys;
	CniResult *previous; /* prevResult; NULL also if malformed in a DEL */
	GArray *valid;	     /* GC: of CniAttachmentKey; empty: no attachment is valid */
} CniRequest;

extern const CniNetworkKeys cni_network_keys_none;

/* The keys of virtual functions have the names of sriov-cni, so that its networks keep working.
 * CNI_ERROR_CONFIG names the key. */
gboolean cni_network_keys_parse(const struct json_t *config, CniNetworkKeys *keys, GError **error);
void cni_network_keys_clear(CniNetworkKeys *keys);

/* "0c:42:a1:00:00:65:43:21", "0c42a10000654321" or "0x0c42a10000654321"; neither 0 nor all ones. */
gboolean cni_guid_parse(const char *text, guint64 *guid);

/*
 * Never returns NULL: after an error it returns the part parsed before it, so that the answer can
 * use the caller's version.  `environment`: "NAME=value", each terminated by a NUL.
 * CNI_ERROR_VERSION, CNI_ERROR_ENVIRONMENT, CNI_ERROR_DECODE, CNI_ERROR_CONFIG.
 */
CniRequest *cni_request_parse(const char *environment, gsize environment_length, const char *input,
			      gsize input_length, GError **error);
void cni_request_free(CniRequest *request);
/* Returns whether the request is for the pod of that namespace and name. */
gboolean cni_request_is_for(const CniRequest *request, const char *pod_namespace,
			    const char *pod_name);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniRequest, cni_request_free)

/* "ADD" */
const char *cni_command_name(CniCommand command);
