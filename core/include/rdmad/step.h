/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: what is to be done to a pod's network, as plain data
 *
 * A step says what to do and what its undo needs to know.  A plan is an array of steps in the order
 * in which they are done; they are undone in the reverse order.  Nothing here reads the network:
 * the planner has looked before, and the executor does as the plan says.
 *
 * A step may be done or undone when that has been done before; the second time changes nothing.  So
 * a step carries the data that tells its own work from others': names with indexes, earlier values.
 *
 * Interfaces of the pod are named as they are called there, as a plan is made before they exist;
 * those of the host have their index too.  Steps are journalled and sent to the executor as JSON.
 */
#pragma once

#include <rdmad/address.h>

#define RDMAD_STEPS_MAX	    1536u      /* of one plan */
#define RDMAD_STEP_LIST_MAX 1024u      /* entries of a list in a step */
#define RDMAD_STEP_JSON_MAX (1u << 20) /* bytes of one plan */

typedef enum { /* the words of the JSON stand in step.c */
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

/* One address of a link.  flags: IFA_F_* of linux/if_addr.h, those that the user can set. */
typedef struct {
	char *link;   /* NULL inside of a moved link */
	RdmadIp ip;   /* with the prefix of its network */
	RdmadIp peer; /* of a point-to-point link, else none */
	RdmadIp broadcast;
	guint32 flags;
	guint32 metric; /* IFA_RT_PRIORITY */
	guint32 scope;	/* RT_SCOPE_* */
	char *label;	/* IPv4; NULL: the name of the link */
	guint32 valid_s,
		preferred_s; /* 0: for ever; with IFA_F_DEPRECATED, `preferred_s` is over */
	gboolean remove;     /* takes the address away; its undo adds it */
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
	gboolean remove;  /* takes the route away; its undo adds it */
	gboolean replace; /* takes the place of the one with this destination, table and metric */
} RdmadStepRoute;

/* One rule; undone by exactly these attributes. */
typedef struct {
	int family; /* AF_INET, AF_INET6 */
	guint32 priority, table;
	RdmadIp from, to;
	char *iif, *oif;
	guint32 mark, mask;
	guint32 protocol; /* who made it, as a route's */
	gboolean remove;  /* takes the rule away; its undo adds it */
} RdmadStepRule;

/* One permanent neighbour entry. */
typedef struct {
	char *link; /* NULL inside of a moved link */
	RdmadIp ip;
	RdmadMac mac;
} RdmadStepNeighbour;

/* A value below /proc/sys; `before` NULL: nothing to restore, the value goes with its interface. */
typedef struct {
	char *path; /* "net/ipv4/conf/eth1/arp_ignore" */
	char *value, *before;
} RdmadStepSysctl;

/* Makes a virtual link in the pod's namespace by one message.  Undo: deletes the link of that name
 * if it is of this kind and on this parent. */
typedef struct {
	char *kind;	      /* "macvlan", "ipvlan", "ipoib", "vlan" */
	guint32 parent_index; /* in the host's namespace */
	char *parent;	      /* its name; another name under that index is an error */
	char *name;	      /* in the pod */
	char *mode;   /* macvlan: "bridge", "private", "vepa", "passthru"; ipvlan: "l2", "l3",
				 * "l3s"; ipoib: "datagram", "connected"; NULL: the first of these */
	guint32 vlan; /* 1 to 4094 */
	gboolean is_8021ad;
	guint32 pkey; /* ipoib; 0: the parent's */
	RdmadMac mac; /* none: the kernel's choice, or the parent's */
	guint32 mtu;  /* 0: the parent's */
} RdmadStepLinkCreate;

/* Moves a link of the host into the pod, and renames it.  Undo: from wherever it is now, gives it
 * back with all that is written here. */
typedef struct {
	guint32 index; /* in the host's namespace */
	char *host_name, *pod_name;
	char *pci; /* tells it from others when it comes back under another index; may be NULL */
	/* As it was in the host: */
	char **altnames; /* NULL-terminated */
	guint32 mtu;
	RdmadMac mac;
	gboolean up;
	GArray *addresses;  /* of RdmadStepAddress; NULL: none */
	GArray *routes;	    /* of RdmadStepRoute */
	GArray *neighbours; /* of RdmadStepNeighbour */
	GArray *sysctls;    /* of RdmadStepSysctl, each to get its `value` */
} RdmadStepLinkMove;

typedef struct {
	char *link;
	int up;	      /* RdmadStepSwitch */
	guint32 mtu;  /* 0: kept */
	RdmadMac mac; /* none: kept */
	/* The values that the undo restores; KEEP, 0 and none are left alone. */
	int up_before;
	guint32 mtu_before;
	RdmadMac mac_before;
} RdmadStepLinkSet;

typedef struct {
	char *link;
	char *name;
	gboolean remove; /* takes the name away; its undo adds it */
} RdmadStepAltname;

/* Gratuitous ARP, or an unsolicited neighbour advertisement. */
typedef struct {
	char *link;
	RdmadIp ip;
	guint32 count;
} RdmadStepAnnounce;

/* Settings of a virtual function, made at its PF; fields that `set` does not name are left alone. */
typedef struct {
	guint32 set; /* RDMAD_STEP_VF_* */
	RdmadMac mac;
	guint32 vlan, qos, vlan_protocol; /* ETH_P_8021Q, ETH_P_8021AD */
	gboolean spoof_check, trust;
	guint32 min_rate, max_rate; /* Mbit/s; 0: no limit */
	guint32 link_state;	    /* IFLA_VF_LINK_STATE_* */
	guint64 node_guid, port_guid;
} RdmadVfState;

enum { /* bits as those of RdmadVfFields */
       RDMAD_STEP_VF_MAC = 1 << 0,
       RDMAD_STEP_VF_VLAN = 1 << 1, /* vlan, qos, vlan_protocol */
       RDMAD_STEP_VF_RATE = 1 << 2,
       RDMAD_STEP_VF_SPOOF_CHECK = 1 << 3,
       RDMAD_STEP_VF_TRUST = 1 << 4,
       RDMAD_STEP_VF_LINK_STATE = 1 << 5,
       RDMAD_STEP_VF_GUIDS = 3 << 6,
};

/* Sets a virtual function through its PF and reads it again.  Undo: sets it to `before`. */
typedef struct {
	guint32 pf_index;
	char *pf;
	guint32 vf;
	char *pci; /* of the function, "0000:3b:00.2" */
	RdmadVfState wanted, before;
	gboolean rebind; /* its driver is unbound and bound, to see a new GUID: steps that follow
				 * find its link and its RDMA device by `pci`, under new indexes */
} RdmadStepVfSet;

/* Moves an RDMA device into the pod's namespace; exclusive netns mode only.  Undo: from wherever it
 * is now, back to the host's namespace and under its name. */
typedef struct {
	guint32 index; /* RDMA netlink's dev_index, the same in every namespace */
	char *host_name;
	char *pod_name;	   /* NULL: it keeps its name */
	guint64 node_guid; /* tells it from another one under that index; 0: not known */
	char *pci;	   /* may be NULL */
} RdmadStepRdmaMove;

/* Waits until the GID of an address is in the table of a device; its index is the result. */
typedef struct {
	char *device; /* RDMA device, as it is called by then */
	guint32 port;
	char *link; /* of the pod, that the GID belongs to */
	RdmadIp ip;
	guint32 timeout_ms;
} RdmadStepWaitGid;

typedef struct {
	char *link;
	gboolean carrier;   /* until it has a carrier */
	gboolean addresses; /* until no address is tentative; a duplicate is an error */
	guint32 timeout_ms;
	gboolean may_fail; /* the timeout is a remark, not an error */
} RdmadStepWaitLink;

/* Proves with rdma_bind_addr() in the pod's namespace that `ip` leads to `device`.  Nothing is proved where the
 * executor may not open RDMA devices. */
typedef struct {
	char *device;
	guint32 port;
	RdmadIp ip;
} RdmadStepRdmaBind;

/* An entry of SMC-R: `eid`, or `pnetid` and what has it.  That of an RDMA device is made in the host.
 * Undo: takes it away. */
typedef struct {
	char *eid;
	char *pnetid;
	char *link;   /* of the namespace that it is done in */
	char *device; /* RDMA device */
} RdmadStepSmc;

typedef struct {
	RdmadStepKind kind;
	RdmadStepPlace where;
	/* Its effect ends with a link that another step makes or moves: its undo does nothing. */
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

/* All members 0 and NULL; a step owns its strings and arrays. */
RDMAD_API RdmadStep *rdmad_step_new(RdmadStepKind kind, RdmadStepPlace where);
RDMAD_API void rdmad_step_free(RdmadStep *step);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadStep, rdmad_step_free)

/* The arrays of a moved link, whose elements free what they own. */
RDMAD_API GArray *rdmad_step_addresses_new(void);
RDMAD_API GArray *rdmad_step_routes_new(void);
RDMAD_API GArray *rdmad_step_neighbours_new(void);
RDMAD_API GArray *rdmad_step_sysctls_new(void);

/* "link-create" */
RDMAD_API const char *rdmad_step_name(RdmadStepKind kind);
/* "link-create eth1 in the pod": for errors and logs. */
RDMAD_API char *rdmad_step_describe(const RdmadStep *step);

/* Never fails for a step that rdmad_step_from_json() returned. */
RDMAD_API struct json_t *rdmad_step_to_json(const RdmadStep *step);
/* RDMAD_ERROR_INVALID names the step and the key: unknown, missing, out of bounds, malformed. */
RDMAD_API RdmadStep *rdmad_step_from_json(const struct json_t *json, GError **error);

/* A whole plan: a GPtrArray of RdmadStep that frees them. */
RDMAD_API GPtrArray *rdmad_steps_new(void);
/* JSON on one line, to be freed with g_free(). */
RDMAD_API char *rdmad_steps_to_text(const GPtrArray *steps);
/* RDMAD_ERROR_INVALID "step 3, route: ...", or RDMAD_ERROR_LIMIT. */
RDMAD_API GPtrArray *rdmad_steps_from_text(const char *text, gsize length, GError **error);
