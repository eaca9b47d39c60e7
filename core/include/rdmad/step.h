/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: changes of a pod's network, as plain data
 *
 * A step has the data of a change and of its undo.  A plan is an array of steps in the order of
 * execution; the undo has the reverse order.  These functions do not read the network: the planner
 * has read it before, and the executor executes the plan.
 *
 * Steps and their undo are idempotent: a repetition changes nothing.  Therefore a step has the data
 * that distinguishes its own work from that of others: names with indexes, previous values.
 *
 * An interface of the pod has its name there only, because a plan is made before it exists; an
 * interface of the host has its index too.  Steps are journalled and sent to the executor as JSON.
 */
#pragma once

#include <rdmad/address.h>

#define RDMAD_STEPS_MAX	    1536u      /* of one plan */
#define RDMAD_STEP_LIST_MAX 1024u      /* entries of a list in a step */
#define RDMAD_STEP_JSON_MAX (1u << 20) /* bytes of one plan */

typedef enum { /* step.c has the words of the JSON */
	       RDMAD_STEP_LINK_CREATE,
	       RDMAD_STEP_LINK_MOVE,
	       RDMAD_STEP_LINK_SET,
	       RDMAD_STEP_ALTNAME,
	       RDMAD_STEP_SYSCTL,
	       RDMAD_STEP_ADDRESS,
	       RDMAD_STEP_ROUTE,
	       RDMAD_STEP_RULE,
	       RDMAD_STEP_NEIGHBOUR,
	       RDMAD_STEP_ANNOUNCE,
	       RDMAD_STEP_VF_SET,
	       RDMAD_STEP_RDMA_MOVE,
	       RDMAD_STEP_WAIT_GID,
	       RDMAD_STEP_WAIT_LINK,
	       RDMAD_STEP_RDMA_BIND,
	       RDMAD_STEP_SMC,
	       RDMAD_N_STEPS,
} RdmadStepKind;

typedef enum {
	RDMAD_STEP_IN_HOST,
	RDMAD_STEP_IN_POD,
} RdmadStepPlace;

/* Changes of a boolean attribute. */
typedef enum {
	RDMAD_STEP_KEEP,
	RDMAD_STEP_ON,
	RDMAD_STEP_OFF,
} RdmadStepSwitch;

/* One address of a link.  `flags` are the IFA_F_* of linux/if_addr.h that a user can set. */
typedef struct {
	char *link;   /* NULL inside of a moved link */
	RdmadIp ip;   /* with the prefix of its network */
	RdmadIp peer; /* of a point-to-point link, else not set */
	RdmadIp broadcast;
	guint32 flags;
	guint32 metric; /* IFA_RT_PRIORITY */
	guint32 scope;	/* RT_SCOPE_* */
	char *label;	/* IPv4; NULL: the name of the link */
	guint32 valid_s,
		preferred_s; /* 0: unlimited; with IFA_F_DEPRECATED, `preferred_s` has passed */
	gboolean remove;     /* removes the address; the undo adds it */
} RdmadStepAddress;

/* Values of a route's fields, as in linux/rtnetlink.h; 0 leaves the field to the kernel. */
enum {
	RDMAD_ROUTE_TABLE_MAIN = 254,
	RDMAD_ROUTE_SCOPE_LINK = 253,
	/* type */
	RDMAD_ROUTE_UNICAST = 1,
	RDMAD_ROUTE_LOCAL = 2,
	RDMAD_ROUTE_BROADCAST = 3,
	RDMAD_ROUTE_ANYCAST = 4,
	RDMAD_ROUTE_MULTICAST = 5,
	/* protocol: its maker */
	RDMAD_ROUTE_BY_KERNEL = 2,
	RDMAD_ROUTE_BY_ADMINISTRATOR = 4,
	RDMAD_ROUTE_BY_ADVERTISEMENT = 9,
};

typedef struct {
	char *link;	 /* NULL inside of a moved link, and for types without one */
	RdmadIp to;	 /* prefix 0: the default route */
	RdmadIp gateway; /* may be of the other family (RTA_VIA) */
	RdmadIp source;	 /* RTA_PREFSRC */
	guint32 table;
	guint32 metric;
	guint32 scope, type, protocol;
	guint32 mtu, advmss;
	gboolean onlink;
	gboolean remove;  /* removes the route; the undo adds it */
	gboolean replace; /* replaces the route with this destination, table and metric */
} RdmadStepRoute;

/* One rule; the undo deletes the rule with exactly these attributes. */
typedef struct {
	int family; /* AF_INET, AF_INET6 */
	guint32 priority, table;
	RdmadIp from, to;
	char *iif, *oif;
	guint32 mark, mask;
	guint32 protocol; /* its maker, as of a route */
	gboolean remove;  /* removes the rule; the undo adds it */
} RdmadStepRule;

/* One permanent neighbour entry. */
typedef struct {
	char *link; /* NULL inside of a moved link */
	RdmadIp ip;
	RdmadMac mac;
} RdmadStepNeighbour;

/* A value below /proc/sys; `before` NULL: nothing to restore, because the value ends with its
 * interface. */
typedef struct {
	char *path; /* "net/ipv4/conf/eth1/arp_ignore" */
	char *value, *before;
} RdmadStepSysctl;

/* Makes a virtual link in the pod's namespace by one message.  Undo: deletes the link of that name
 * if it is of this kind and on this parent. */
typedef struct {
	char *kind;	      /* "macvlan", "ipvlan", "ipoib", "vlan" */
	guint32 parent_index; /* in the host's namespace */
	char *parent;	      /* its name; another name at that index is an error */
	char *name;	      /* in the pod */
	char *mode;	      /* macvlan: "bridge", "private", "vepa", "passthru"; ipvlan: "l2",
			       * "l3", "l3s"; ipoib: "datagram", "connected"; NULL: the first */
	guint32 vlan; /* 1 to 4094 */
	gboolean is_8021ad;
	guint32 pkey; /* ipoib; 0: the parent's */
	RdmadMac mac; /* not set: the kernel's choice, or the parent's */
	guint32 mtu;  /* 0: the parent's */
} RdmadStepLinkCreate;

#define RDMAD_STEP_GROUP_AWAY 0x72646d76 /* "rdmv" */

/* Moves a link of the host into the pod, and renames it.  Undo: moves it back from its present
 * namespace, with all members restored.  A link in the host that is up, without the group
 * RDMAD_STEP_GROUP_AWAY, was never moved, or is restored. */
typedef struct {
	guint32 index; /* in the host's namespace */
	char *host_name, *pod_name;
	char *pci; /* may be NULL */
	/* What a pod can neither change nor give to another link; as in RdmadLink: */
	char *parent_device;	/* NULL: unknown */
	char *kind;		/* "": a physical link; NULL: unknown, as all that follows */
	RdmadMac permanent_mac; /* not set: none */
	guint32 parent;		/* in the host's namespace; 0: none */
	RdmadMac pod_mac;	/* that a later step sets */
	/* Its state in the host before the move: */
	char **altnames; /* NULL-terminated */
	guint32 mtu;
	RdmadMac mac;
	gboolean up;
	guint32 flags; /* IFF_* */
	guint32 link_mode, xdp;
	guint32 group;
	gboolean is_marked; /* has the group RDMAD_STEP_GROUP_AWAY until it is restored */
	GArray *addresses;  /* of RdmadStepAddress; NULL: none */
	GArray *routes;	    /* of RdmadStepRoute */
	GArray *neighbours; /* of RdmadStepNeighbour */
	GArray *sysctls;    /* of RdmadStepSysctl, whose `value` is restored */
} RdmadStepLinkMove;

typedef struct {
	char *link;
	int up;	      /* RdmadStepSwitch */
	guint32 mtu;  /* 0: kept */
	RdmadMac mac; /* not set: kept */
	/* Values that the undo restores; RDMAD_STEP_KEEP, 0 and not set: kept. */
	int up_before;
	guint32 mtu_before;
	RdmadMac mac_before;
} RdmadStepLinkSet;

typedef struct {
	char *link;
	char *name;
	gboolean remove; /* removes the name; the undo adds it */
} RdmadStepAltname;

/* Sends gratuitous ARP, or unsolicited neighbour advertisements.  No undo. */
typedef struct {
	char *link;
	RdmadIp ip;
	guint32 count;
} RdmadStepAnnounce;

/* Settings of a virtual function, made at its PF; fields that are not in `set` are kept. */
typedef struct {
	guint32 set; /* RDMAD_STEP_VF_* */
	RdmadMac mac;
	guint32 vlan, qos, vlan_protocol; /* ETH_P_8021Q, ETH_P_8021AD */
	gboolean spoof_check, trust;
	guint32 min_rate, max_rate; /* Mbit/s; 0: no limit */
	guint32 link_state;	    /* IFLA_VF_LINK_STATE_* */
	guint64 node_guid, port_guid;
} RdmadVfState;

enum { /* the bits of RdmadVfFields */
       RDMAD_STEP_VF_MAC = 1 << 0,
       RDMAD_STEP_VF_VLAN = 1 << 1, /* vlan, qos, vlan_protocol */
       RDMAD_STEP_VF_RATE = 1 << 2,
       RDMAD_STEP_VF_SPOOF_CHECK = 1 << 3,
       RDMAD_STEP_VF_TRUST = 1 << 4,
       RDMAD_STEP_VF_LINK_STATE = 1 << 5,
       RDMAD_STEP_VF_GUIDS = 3 << 6,
};

/* Sets a virtual function through its PF, and verifies it by reading.  Undo: sets it to
 * `before`. */
typedef struct {
	guint32 pf_index;
	char *pf;
	guint32 vf;
	char *pci; /* of the function, "0000:3b:00.2" */
	RdmadVfState wanted, before;
	gboolean rebind; /* unbinds and binds its driver for a new GUID: later steps find its
				 * link and its RDMA device by `pci`, with new indexes */
} RdmadStepVfSet;

/* Moves an RDMA device into the pod's namespace; exclusive netns mode only.  Undo: moves it back
 * from its present namespace to the host's, with its name there. */
typedef struct {
	guint32 index; /* RDMA netlink's dev_index, the same in every namespace */
	char *host_name;
	char *pod_name;	   /* NULL: unchanged */
	guint64 node_guid; /* distinguishes it from another device at that index; 0: unknown */
	char *pci;	   /* may be NULL */
} RdmadStepRdmaMove;

/* Waits until the GID of an address is in the table of a device.  The result is its index. */
typedef struct {
	char *device; /* name of the RDMA device at that step */
	guint32 port;
	char *link; /* interface of the GID, in the pod */
	RdmadIp ip;
	guint32 timeout_ms;
} RdmadStepWaitGid;

typedef struct {
	char *link;
	gboolean carrier;   /* waits for a carrier */
	gboolean addresses; /* waits until no address is tentative; a duplicate is an error */
	guint32 timeout_ms;
	gboolean may_fail; /* a timeout is no error */
} RdmadStepWaitLink;

/* Verifies with rdma_bind_addr(3) in the pod's namespace that `ip` leads to `device`.  Nothing is
 * verified if the executor may not open RDMA devices. */
typedef struct {
	char *device;
	guint32 port;
	RdmadIp ip;
} RdmadStepRdmaBind;

/* Adds an entry of SMC-R: `eid`, or `pnetid` with its link or RDMA device.  The entry of an RDMA
 * device is made in the host.  Undo: removes the entry. */
typedef struct {
	char *eid;
	char *pnetid;
	char *link;   /* in the namespace of the step */
	char *device; /* RDMA device */
} RdmadStepSmc;

typedef struct {
	RdmadStepKind kind;
	RdmadStepPlace where;
	/* The undo does nothing, because the effect ends with a link that another step makes or
	 * moves. */
	gboolean goes_with_link;
	union {
		RdmadStepLinkCreate create;
		RdmadStepLinkMove move;
		RdmadStepLinkSet link;
		RdmadStepAltname altname;
		RdmadStepSysctl sysctl;
		RdmadStepAddress address;
		RdmadStepRoute route;
		RdmadStepRule rule;
		RdmadStepNeighbour neighbour;
		RdmadStepAnnounce announce;
		RdmadStepVfSet vf;
		RdmadStepRdmaMove rdma;
		RdmadStepWaitGid gid;
		RdmadStepWaitLink wait;
		RdmadStepRdmaBind bind;
		RdmadStepSmc smc;
	};
} RdmadStep;

/* Returns a step with all members 0 and NULL.  A step owns its strings and arrays. */
RDMAD_API RdmadStep *rdmad_step_new(RdmadStepKind kind, RdmadStepPlace where);
RDMAD_API void rdmad_step_free(RdmadStep *step);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadStep, rdmad_step_free)

/* Return the arrays of a moved link, which free the strings of their elements. */
RDMAD_API GArray *rdmad_step_addresses_new(void);
RDMAD_API GArray *rdmad_step_routes_new(void);
RDMAD_API GArray *rdmad_step_neighbours_new(void);
RDMAD_API GArray *rdmad_step_sysctls_new(void);

/* Returns a static word: "link-create". */
RDMAD_API const char *rdmad_step_name(RdmadStepKind kind);
/* Returns a text for errors and logs, "link-create eth1 in the pod"; g_free(). */
RDMAD_API char *rdmad_step_describe(const RdmadStep *step);

/* Returns a new reference.  Never fails for a step of rdmad_step_from_json(). */
RDMAD_API struct json_t *rdmad_step_to_json(const RdmadStep *step);
/* RDMAD_ERROR_INVALID: a key, which is named with its step, is unknown, missing, out of bounds or
 * malformed. */
RDMAD_API RdmadStep *rdmad_step_from_json(const struct json_t *json, GError **error);

/* Returns an empty plan: an array of RdmadStep, which frees them. */
RDMAD_API GPtrArray *rdmad_steps_new(void);
/* Returns JSON on one line; g_free(). */
RDMAD_API char *rdmad_steps_to_text(const GPtrArray *steps);
/* RDMAD_ERROR_INVALID: "step 3: route: ..."; RDMAD_ERROR_LIMIT: more than RDMAD_STEP_JSON_MAX
 * bytes. */
RDMAD_API GPtrArray *rdmad_steps_from_text(const char *text, gsize length, GError **error);
