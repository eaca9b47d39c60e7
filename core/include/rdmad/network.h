/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links, addresses, routes, rules and sysctls of a network namespace, and RDMA devices in it
 *
 * All functions that exchange messages with the kernel block, some for milliseconds because the
 * kernel waits for RCU: call them from the `run` of a job (work.h), and those of one RdmadNetwork
 * from one thread at a time.  The watch is for the loop.  The caller keeps descriptors of
 * namespaces.  Lists are NULL after an error.
 *
 * Errors: RDMAD_ERROR_NOT_FOUND (no such link, address, route or rule), RDMAD_ERROR_BUSY (it
 * exists, or is in use), RDMAD_ERROR_INVALID (rejected without a request to the kernel),
 * RDMAD_ERROR_TIMEOUT, RDMAD_ERROR_UNAVAILABLE (a list that changed at each reading),
 * RDMAD_ERROR_LIMIT (a list of more than 65536 entries), RDMAD_ERROR_FAILED.  The message has the
 * kernel's explanation, if any; rdmad_network_errnum() returns its errno.
 *
 * Sources: rtnetlink(7), include/uapi/linux/{if_link,if_addr,rtnetlink,fib_rules,neighbour}.h,
 * include/uapi/rdma/rdma_netlink.h.
 */
#pragma once

#include <rdmad/address.h>

/* Opens the namespace of the descriptor `netns`; 0: rdmad's own. */
RDMAD_API RdmadNetwork *rdmad_network_open(int netns, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Takes over a socket of rdmad_executor_open(), for reading only. */
RDMAD_API RdmadNetwork *rdmad_network_adopt(int socket, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API void rdmad_network_close(RdmadNetwork *net);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadNetwork, rdmad_network_close)
/* Returns the errno of the last call; 0: success. */
RDMAD_API int rdmad_network_errnum(const RdmadNetwork *net);
/* Stores the number of the namespace `netns` in this one (RdmadLink.parent_netns); -1: none. */
RDMAD_API gboolean rdmad_network_netns_number(RdmadNetwork *net, int netns, int *number,
					      GError **error);

/* Calls `hint` from the loop when links, addresses, routes or rules of rdmad's own namespace may
 * have changed, once for each batch of messages. */
RDMAD_API RdmadNetworkWatch *rdmad_network_watch_new(RdmadLoop *loop, RdmadModule *owner,
						     void (*hint)(gpointer data), gpointer data,
						     GError **error) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API void rdmad_network_watch_free(RdmadNetworkWatch *watch);

/* ---- Internet addresses ---- */

/* Returns "192.0.2.7/24"; g_free() */
RDMAD_API char *rdmad_ip_format(const RdmadIp *ip);

/* ---- links ---- */

/* Checks a name with rdmad_interface_name_is_valid().  RDMAD_ERROR_INVALID. */
RDMAD_API gboolean rdmad_interface_name_check(const char *name, GError **error);

typedef struct {
	guint number;
	char *mac;
	guint vlan, qos;
	gboolean is_8021ad;
	guint min_rate, max_rate; /* Mbit/s; 0: no limit */
	int spoofchk, trust;	  /* 1, 0, -1: unknown */
	int link_state; /* IFLA_VF_LINK_STATE_*: 0 as the port, 1 up, 2 down; -1: unknown */
	guint64 node_guid, port_guid; /* 0: none */
} RdmadVf;

typedef struct {
	int ifindex;
	char *name;
	char **altnames;
	char *parent_device;	   /* "0000:18:00.0"; NULL: none, or a kernel before 5.14 */
	char *kind;		   /* "macvlan", "veth", ...; NULL: a physical link */
	int parent;		   /* ifindex of the link below, of a veth its peer; 0: none */
	int parent_netns;	   /* number of the namespace of `parent`; -1: the same */
	int master;		   /* ifindex of the bond or bridge above; 0: none */
	guint32 group;		   /* IFLA_GROUP; 0: the default one */
	char *mac, *permanent_mac; /* may be NULL */
	guint mtu;
	guint flags;	   /* IFF_UP, ... */
	guint32 link_mode; /* IFLA_LINKMODE; 0: the default one */
	gboolean up;
	int carrier;	       /* 1, 0; -1: unknown, such as of a link that is down */
	int carrier_changes;   /* -1: unknown */
	int ipv6_off;	       /* its sysctl disable_ipv6: 1, 0; -1: unknown */
	const char *operstate; /* as in sysfs, or NULL */
	RdmadVf *vfs;
	guint n_vfs;
	guint max_mtu; /* of the driver; 0: unknown */
	guint xdp;     /* XDP_FLAGS_*_MODE in which it has a program */
} RdmadLink;

RDMAD_API void rdmad_link_free(RdmadLink *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadLink, rdmad_link_free)
/* Returns the ifindex of the link below in the same namespace; 0: none. */
RDMAD_API int rdmad_link_below(const RdmadLink *link);

/* Returns an array of RdmadLink, without their virtual functions. */
RDMAD_API GPtrArray *rdmad_links_list(RdmadNetwork *net, GError **error);
/* The same, of the links for which `wanted` returns TRUE.  A namespace may have any number of
 * others. */
RDMAD_API GPtrArray *rdmad_links_find(RdmadNetwork *net,
				      gboolean (*wanted)(const RdmadLink *link, gpointer data),
				      gpointer data, GError **error);
/* Return a link by its name or alternative name, or by its index. */
RDMAD_API RdmadLink *rdmad_link_get(RdmadNetwork *net, const char *name, GError **error);
RDMAD_API RdmadLink *rdmad_link_get_index(RdmadNetwork *net, int ifindex, GError **error);

/* A link to be made.  Members that are 0 or NULL have the kernel's defaults. */
typedef struct {
	const char *kind; /* "macvlan", "ipvlan", "vlan", "ipoib", "veth", "dummy" */
	const char *name;
	int parent; /* ifindex in the namespace of the RdmadNetwork */
	int netns;  /* descriptor of the link's namespace; 0: that of the RdmadNetwork */
	const char *mac;
	guint mtu;
	gboolean up;
	const char *mode;   /* macvlan: bridge (default), private, vepa, passthru; ipvlan: l2
				 * (default), l3, l3s; ipoib: datagram, connected */
	guint vlan;	    /* vlan: 1 to 4094 */
	gboolean is_8021ad; /* vlan */
	guint pkey;	    /* ipoib; 0: the parent's */
	const char *peer;   /* veth: name of the other end */
	int peer_netns;	    /* veth: descriptor of its namespace; 0: that of the RdmadNetwork */
} RdmadLinkSpec;

/* Makes a link by one message, so that it is never in another namespace or without its name. */
RDMAD_API gboolean rdmad_link_create(RdmadNetwork *net, const RdmadLinkSpec *spec, GError **error);

/* A change of a link.  Members that are 0 or NULL are kept. */
typedef struct {
	const char *name;
	const char *mac;
	guint mtu;
	int up;	     /* 1: up, -1: down */
	int netns;   /* descriptor of the namespace to move to, as `name` if set */
	int ifindex; /* its index there */
	const guint32 *group, *link_mode;
	guint flags, flags_mask; /* IFF_* of a user, other than IFF_UP */
	guint no_xdp;		 /* one of XDP_FLAGS_*_MODE: removes the program */
} RdmadLinkChange;

/*
 * Changes a link.  A move to a namespace where `name` exists may fail with EEXIST after the link
 * was moved, under its old name (up to and including kernel 6.18): look for the link there.
 */
RDMAD_API gboolean rdmad_link_change(RdmadNetwork *net, int ifindex, const RdmadLinkChange *change,
				     GError **error);
/* Adds an alternative name, or removes it if `there` is FALSE. */
RDMAD_API gboolean rdmad_link_set_altname(RdmadNetwork *net, int ifindex, const char *name,
					  gboolean there, GError **error);
/* Deletes all links at once, because the kernel then waits for RCU once, not for each.  A missing
 * link is no error. */
RDMAD_API gboolean rdmad_links_delete(RdmadNetwork *net, const int *ifindexes, guint n,
				      GError **error);

typedef enum {
	RDMAD_VF_MAC = 1 << 0,
	RDMAD_VF_VLAN = 1 << 1, /* with qos and is_8021ad */
	RDMAD_VF_RATE = 1 << 2, /* min_rate and max_rate */
	RDMAD_VF_SPOOFCHK = 1 << 3,
	RDMAD_VF_TRUST = 1 << 4,
	RDMAD_VF_LINK_STATE = 1 << 5,
	RDMAD_VF_NODE_GUID = 1 << 6,
	RDMAD_VF_PORT_GUID = 1 << 7,
} RdmadVfFields;

/* Sets the given fields of virtual function `vf->number` of the physical function `ifindex`. */
RDMAD_API gboolean rdmad_vf_set(RdmadNetwork *net, int ifindex, const RdmadVf *vf,
				RdmadVfFields fields, GError **error);

/* ---- addresses ---- */

typedef struct {
	int ifindex;
	RdmadIp ip;
	RdmadIp peer; /* of a point-to-point link */
	RdmadIp broadcast;
	guint flags;		    /* IFA_F_NODAD, IFA_F_NOPREFIXROUTE, ... */
	guint scope;		    /* RT_SCOPE_* */
	guint metric;		    /* of its prefix's route; 0: the kernel's default */
	guint valid_s, preferred_s; /* 0: unlimited; a deprecated address has IFA_F_DEPRECATED */
	char label[16];		    /* IPv4; "": the name of the link */
} RdmadAddress;

/* Returns an array of RdmadAddress, which frees them; `ifindex` 0: of all links. */
RDMAD_API GPtrArray *rdmad_addresses_list(RdmadNetwork *net, int ifindex, GError **error);
/* Adds an address, or sets flags and times of the existing one. */
RDMAD_API gboolean rdmad_address_replace(RdmadNetwork *net, const RdmadAddress *address,
					 GError **error);
RDMAD_API gboolean rdmad_address_add(RdmadNetwork *net, const RdmadAddress *address,
				     GError **error);
RDMAD_API gboolean rdmad_address_delete(RdmadNetwork *net, const RdmadAddress *address,
					GError **error);

/* ---- neighbours ---- */

typedef struct {
	int ifindex;
	RdmadIp ip;
	RdmadMac mac;
} RdmadNeighbour;

/* Returns an array of RdmadNeighbour, which frees them: the permanent entries, without proxies;
 * `ifindex` 0: of all links. */
RDMAD_API GPtrArray *rdmad_neighbours_list(RdmadNetwork *net, int ifindex, GError **error);
/* Adds a permanent entry, or replaces the existing one. */
RDMAD_API gboolean rdmad_neighbour_replace(RdmadNetwork *net, int ifindex, const RdmadIp *ip,
					   const char *mac, GError **error);
RDMAD_API gboolean rdmad_neighbour_delete(RdmadNetwork *net, int ifindex, const RdmadIp *ip,
					  GError **error);

/* ---- routes ---- */

#define RDMAD_ROUTE_HOPS_MAX 16u

typedef struct {
	RdmadIp gateway; /* not set: on the link */
	int ifindex;
	guint weight; /* 1 to 256; 0: 1 */
	gboolean onlink;
} RdmadRouteHop;

typedef struct {
	int family;
	RdmadIp to;	/* not set: the default route */
	guint table;	/* 0: main */
	guint type;	/* RTN_*; 0: unicast */
	guint protocol; /* RTPROT_*; 0: static */
	guint scope;	/* RT_SCOPE_* */
	guint metric;
	RdmadIp source;	   /* preferred source address */
	guint mtu, advmss; /* 0: the link's */
	RdmadRouteHop hops[RDMAD_ROUTE_HOPS_MAX];
	guint n_hops;	  /* 0: none, such as of a blackhole */
	gboolean partial; /* listed routes: there are more hops, or attributes that are not here */
} RdmadRoute;

/* Returns an array of RdmadRoute, which frees them, of AF_INET, AF_INET6 or, with AF_UNSPEC, both,
 * without cached routes; `table`, `ifindex` 0: any. */
RDMAD_API GPtrArray *rdmad_routes_list(RdmadNetwork *net, int family, guint table, int ifindex,
				       GError **error);
RDMAD_API gboolean rdmad_route_add(RdmadNetwork *net, const RdmadRoute *route, GError **error);
/* Adds the route after those with its destination, table and metric; the kernel makes them one
 * route of several hops in IPv6.  RDMAD_ERROR_BUSY: the same route exists. */
RDMAD_API gboolean rdmad_route_append(RdmadNetwork *net, const RdmadRoute *route, GError **error);
RDMAD_API gboolean rdmad_route_replace(RdmadNetwork *net, const RdmadRoute *route, GError **error);
RDMAD_API gboolean rdmad_route_delete(RdmadNetwork *net, const RdmadRoute *route, GError **error);

/* ---- rules ---- */

typedef struct {
	int family;
	RdmadIp from, to; /* not set: any */
	guint priority;
	guint table;
	char iif[16], oif[16]; /* "": any */
	guint protocol;	       /* RTPROT_* of its maker */
} RdmadRule;

/* Returns an array of RdmadRule, which frees them: the rules that look up a table, without inverted
 * ones; `family` as above. */
RDMAD_API GPtrArray *rdmad_rules_list(RdmadNetwork *net, int family, GError **error);
RDMAD_API gboolean rdmad_rule_add(RdmadNetwork *net, const RdmadRule *rule, GError **error);
RDMAD_API gboolean rdmad_rule_delete(RdmadNetwork *net, const RdmadRule *rule, GError **error);

/* ---- sysctls ---- */

typedef struct {
	const char *name; /* below net/, with slashes: "net/ipv4/conf/eth0.100/arp_ignore" */
	const char *value;
} RdmadSysctl;

/* Writes sysctls in order, up to the first failure.  RDMAD_ERROR_NOT_FOUND: a sysctl, which is
 * named, does not exist. */
RDMAD_API gboolean rdmad_sysctls_write(int netns, const RdmadSysctl *sysctls, guint n,
				       GError **error);
/* Writes the sysctls that have another value, and skips missing ones. */
RDMAD_API gboolean rdmad_sysctls_restore(int netns, const RdmadSysctl *sysctls, guint n,
					 GError **error);
/* Returns the names in a directory ("net/ipv4/conf/eth0"), unordered; g_strfreev() */
RDMAD_API char **rdmad_sysctls_list(int netns, const char *directory, GError **error);
/* Return the value of a descriptor of rdmad_executor_open(), or of a sysctl, without its newline;
 * g_free().  RDMAD_ERROR_NOT_FOUND: the named sysctl does not exist, or is a secret that is not
 * set. */
RDMAD_API char *rdmad_sysctl_read_fd(int fd, GError **error);
RDMAD_API char *rdmad_sysctl_read(int netns, const char *name, GError **error);

/* ---- RDMA devices ---- */

/* Returns "shared" or "exclusive".  RDMAD_ERROR_NOT_FOUND: the kernel has no such mode. */
RDMAD_API const char *rdmad_rdma_netns_mode(GError **error);
/* Moves an RDMA device from the namespace `from`, in which the request is made, to `to`; 0: rdmad's
 * own. RDMAD_ERROR_FAILED with the text of EOPNOTSUPP: shared mode, or no support in the driver. */
RDMAD_API gboolean rdmad_rdma_move(int from, const char *device, int to, GError **error);
