/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links, addresses, routes, rules and sysctls of a network namespace, and RDMA devices in it
 *
 * All but the watch block, for milliseconds where the kernel waits for RCU: call them from the `run` of
 * a job (work.h), one thread at a time for one RdmadNetwork.  Descriptors of namespaces stay the
 * caller's.
 *
 * Errors: RDMAD_ERROR_NOT_FOUND (no such link, address, route or rule), RDMAD_ERROR_BUSY (it is
 * there already, or in use), RDMAD_ERROR_INVALID (refused without a request to the kernel),
 * RDMAD_ERROR_TIMEOUT, RDMAD_ERROR_UNAVAILABLE (a list that changed each time it was read),
 * RDMAD_ERROR_LIMIT (a list of more than 65536 entries), RDMAD_ERROR_FAILED; the message has the
 * kernel's own explanation where it gives one.  rdmad_network_errnum() has its errno.
 *
 * Sources: rtnetlink(7), include/uapi/linux/{if_link,if_addr,rtnetlink,fib_rules,neighbour}.h,
 * include/uapi/rdma/rdma_netlink.h.
 */
#pragma once

#include <rdmad/address.h>

/* `netns`: a descriptor; 0: rdmad's own namespace. */
RDMAD_API RdmadNetwork *rdmad_network_open(int netns, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Of rdmad_executor_open(): a socket that somebody opened in a namespace, for looking; taken over. */
RDMAD_API RdmadNetwork *rdmad_network_adopt(int socket, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API void rdmad_network_close(RdmadNetwork *net);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadNetwork, rdmad_network_close)
/* Of the last call; 0: it succeeded. */
RDMAD_API int rdmad_network_errnum(const RdmadNetwork *net);
/* The id of another namespace in this one (RdmadLink.parent_netns); -1: it has none. */
RDMAD_API gboolean rdmad_network_netns_number(RdmadNetwork *net, int netns, int *number,
					      GError **error);

/* `hint` comes from the loop when links, addresses, routes or rules of rdmad's own namespace may have
 * changed, once for each batch of messages; a hint may be for nothing. */
RDMAD_API RdmadNetworkWatch *rdmad_network_watch_new(RdmadLoop *loop, RdmadModule *owner,
						     void (*hint)(gpointer data), gpointer data,
						     GError **error) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API void rdmad_network_watch_free(RdmadNetworkWatch *watch);

/* ---- Internet addresses ---- */

/* "192.0.2.7/24"; g_free() */
RDMAD_API char *rdmad_ip_format(const RdmadIp *ip);

/* ---- links ---- */

/* 1 to 15 bytes that are no path, no template ("eth%d") and no space.  RDMAD_ERROR_INVALID. */
RDMAD_API gboolean rdmad_interface_name_check(const char *name, GError **error);

typedef struct {
	guint number;
	char *mac;
	guint vlan, qos;
	gboolean is_8021ad;
	guint min_rate, max_rate;     /* Mbit/s; 0: no limit */
	int spoofchk, trust;	      /* 1, 0, -1: unknown */
	int link_state;		      /* 0: as the port, 1: up, 2: down, -1: unknown */
	guint64 node_guid, port_guid; /* 0: none */
} RdmadVf;

typedef struct {
	int ifindex;
	char *name;
	char **altnames;
	char *kind;		   /* "macvlan", "veth", ...; NULL: a physical one */
	int parent;		   /* ifindex of the link below; 0: none */
	int parent_netns;	   /* number of the namespace of `parent`; -1: the same */
	int master;		   /* ifindex of the bond or bridge above; 0: none */
	char *mac, *permanent_mac; /* may be NULL */
	guint mtu;
	guint flags; /* IFF_UP, ... */
	gboolean up;
	int carrier;	       /* 1, 0, -1: unknown, as that of a link that is down */
	int carrier_changes;   /* -1: unknown */
	const char *operstate; /* as sysfs writes it, or NULL */
	RdmadVf *vfs;
	guint n_vfs;
} RdmadLink;

RDMAD_API void rdmad_link_free(RdmadLink *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadLink, rdmad_link_free)

/* Of RdmadLink, without virtual functions. */
RDMAD_API GPtrArray *rdmad_links_list(RdmadNetwork *net, GError **error);
/* By name or alternative name. */
RDMAD_API RdmadLink *rdmad_link_get(RdmadNetwork *net, const char *name, GError **error);
RDMAD_API RdmadLink *rdmad_link_get_index(RdmadNetwork *net, int ifindex, GError **error);

/* Zeroes are the kernel's own defaults. */
typedef struct {
	const char *kind; /* "macvlan", "ipvlan", "vlan", "ipoib", "veth", "dummy" */
	const char *name;
	int parent; /* ifindex in the namespace of the RdmadNetwork */
	int netns;  /* where the link is to be; 0: there as well */
	const char *mac;
	guint mtu;
	gboolean up;
	const char *mode;   /* macvlan: bridge (default), private, vepa, passthru; ipvlan: l2
				 * (default), l3, l3s; ipoib: datagram, connected */
	guint vlan;	    /* vlan: 1 to 4094 */
	gboolean is_8021ad; /* vlan */
	guint pkey;	    /* ipoib; 0: the parent's */
	const char *peer;   /* veth: the other end's name */
	int peer_netns;	    /* veth; 0: the socket's */
} RdmadLinkSpec;

/* One message: the link is never in another namespace or without its name. */
RDMAD_API gboolean rdmad_link_create(RdmadNetwork *net, const RdmadLinkSpec *spec, GError **error);

/* Zeroes are left as they are. */
typedef struct {
	const char *name;
	const char *mac;
	guint mtu;
	int up;	     /* 1: up, -1: down */
	int netns;   /* to be moved to, under `name` if that is given */
	int ifindex; /* to have there */
} RdmadLinkChange;

/*
 * A move to a namespace where `name` is taken may fail with EEXIST after the link was moved, under
 * its old name (up to and including kernel 6.18): look for it there.
 */
RDMAD_API gboolean rdmad_link_change(RdmadNetwork *net, int ifindex, const RdmadLinkChange *change,
				     GError **error);
/* `there` FALSE: takes it away. */
RDMAD_API gboolean rdmad_link_set_altname(RdmadNetwork *net, int ifindex, const char *name,
					  gboolean there, GError **error);
/* All at once: the kernel waits for RCU once, not for each.  Links that are gone already are no
 * error. */
RDMAD_API gboolean rdmad_links_delete(RdmadNetwork *net, const int *ifindexes, guint n,
				      GError **error);

typedef enum {
	RDMAD_VF_MAC = 1 << 0,
	RDMAD_VF_VLAN = 1 << 1, /* with qos and is_8021ad */
	RDMAD_VF_RATE = 1 << 2, /* both */
	RDMAD_VF_SPOOFCHK = 1 << 3,
	RDMAD_VF_TRUST = 1 << 4,
	RDMAD_VF_LINK_STATE = 1 << 5,
	RDMAD_VF_NODE_GUID = 1 << 6,
	RDMAD_VF_PORT_GUID = 1 << 7,
} RdmadVfFields;

/* Sets the given fields of virtual function `vf->number`, of the physical function `ifindex`. */
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
	guint metric;		    /* of its prefix's route; 0: the kernel's own */
	guint valid_s, preferred_s; /* 0: for ever; a deprecated one has IFA_F_DEPRECATED */
	char label[16];		    /* IPv4; "": the name of the link */
} RdmadAddress;

/* Of RdmadAddress, g_free(); `ifindex` 0: of all links. */
RDMAD_API GPtrArray *rdmad_addresses_list(RdmadNetwork *net, int ifindex, GError **error);
/* One that is there gets the new flags and times. */
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

/* Of RdmadNeighbour, g_free(): the permanent entries, without proxies; `ifindex` 0: of all links. */
RDMAD_API GPtrArray *rdmad_neighbours_list(RdmadNetwork *net, int ifindex, GError **error);
/* A permanent entry. */
RDMAD_API gboolean rdmad_neighbour_replace(RdmadNetwork *net, int ifindex, const RdmadIp *ip,
					   const char *mac, GError **error);
RDMAD_API gboolean rdmad_neighbour_delete(RdmadNetwork *net, int ifindex, const RdmadIp *ip,
					  GError **error);

/* ---- routes ---- */

#define RDMAD_ROUTE_HOPS_MAX 16u

typedef struct {
	RdmadIp gateway; /* none: on the link */
	int ifindex;
	guint weight; /* 1 to 256; 0: 1 */
	gboolean onlink;
} RdmadRouteHop;

typedef struct {
	int family;
	RdmadIp to;	/* none: the default route */
	guint table;	/* 0: main */
	guint type;	/* RTN_*; 0: unicast */
	guint protocol; /* RTPROT_*; 0: static */
	guint scope;	/* RT_SCOPE_* */
	guint metric;
	RdmadIp source;	   /* preferred source address */
	guint mtu, advmss; /* 0: the link's */
	RdmadRouteHop hops[RDMAD_ROUTE_HOPS_MAX];
	guint n_hops;	  /* 0: none, as a blackhole has it */
	gboolean partial; /* listed: it has more hops than these */
} RdmadRoute;

/* Of RdmadRoute, g_free(), of AF_INET, AF_INET6 or, with AF_UNSPEC, both; `table`, `ifindex` 0: any. */
RDMAD_API GPtrArray *rdmad_routes_list(RdmadNetwork *net, int family, guint table, int ifindex,
				       GError **error);
RDMAD_API gboolean rdmad_route_add(RdmadNetwork *net, const RdmadRoute *route, GError **error);
RDMAD_API gboolean rdmad_route_replace(RdmadNetwork *net, const RdmadRoute *route, GError **error);
RDMAD_API gboolean rdmad_route_delete(RdmadNetwork *net, const RdmadRoute *route, GError **error);

/* ---- rules ---- */

typedef struct {
	int family;
	RdmadIp from, to; /* none: any */
	guint priority;
	guint table;
	char iif[16], oif[16]; /* "": any */
	guint protocol;	       /* RTPROT_* of who made it */
} RdmadRule;

/* Of RdmadRule, g_free(): those that look up a table; `family` as above. */
RDMAD_API GPtrArray *rdmad_rules_list(RdmadNetwork *net, int family, GError **error);
RDMAD_API gboolean rdmad_rule_add(RdmadNetwork *net, const RdmadRule *rule, GError **error);
RDMAD_API gboolean rdmad_rule_delete(RdmadNetwork *net, const RdmadRule *rule, GError **error);

/* ---- sysctls ---- */

typedef struct {
	const char *name; /* "net/ipv4/conf/eth0.100/arp_ignore": below net/, with slashes */
	const char *value;
} RdmadSysctl;

/* In their order, up to the first that fails; RDMAD_ERROR_NOT_FOUND names it. */
RDMAD_API gboolean rdmad_sysctls_write(int netns, const RdmadSysctl *sysctls, guint n,
				       GError **error);
/* Those that have another value; one that a kernel or driver does not have is passed over. */
RDMAD_API gboolean rdmad_sysctls_restore(int netns, const RdmadSysctl *sysctls, guint n,
					 GError **error);
/* Names in a directory ("net/ipv4/conf/eth0"), in no order; g_strfreev() */
RDMAD_API char **rdmad_sysctls_list(int netns, const char *directory, GError **error);
/* Without the line's end; g_free() */
/* The value that a descriptor of rdmad_executor_open() shows; g_free() */
RDMAD_API char *rdmad_sysctl_read_fd(int fd, GError **error);
RDMAD_API char *rdmad_sysctl_read(int netns, const char *name, GError **error);

/* ---- RDMA devices ---- */

/* "shared" or "exclusive"; NOT_FOUND: this kernel has no such mode. */
RDMAD_API const char *rdmad_rdma_netns_mode(GError **error);
/* Moves an RDMA device that is in the namespace `from`, where the request is made, to `to`.  0:
 * rdmad's own.  RDMAD_ERROR_FAILED with EOPNOTSUPP's words: shared mode, or a driver that
 * cannot. */
RDMAD_API gboolean rdmad_rdma_move(int from, const char *device, int to, GError **error);
