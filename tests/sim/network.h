/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's network: namespaces with links, addresses, routes, rules, neighbours and sysctls
 *
 * network-calls.c replaces the functions of rdmad/network.h and rdmad/netns.h and applies them to
 * this model, so that rdmad's steps (core/network/perform*.c) and readings run unchanged.  A
 * namespace is identified by the inode of a file, which a later one may have again.
 *
 * Sources: network_namespaces(7), rtnetlink(7), net/ipv4/devinet.c, fib_frontend.c and fib_trie.c
 * of the kernel, and measurements of tests/integration: a link that moves keeps MTU, MAC and
 * alternative names, and loses addresses, routes, neighbours and sysctls; when a namespace ends,
 * its NICs return to the host, down and unconfigured.
 */
#pragma once

#include <rdmad/network.h>

#include "decisions.h"
#include "tree.h"

#define NETWORK_NICS 4u /* on the host, one for each device of the machine */

typedef struct Netns Netns;

typedef struct {
	int index;
	char *name;
	GPtrArray *altnames;
	const char *kind; /* NULL: a NIC */
	guint nic;	  /* number of the NIC; NETWORK_NICS: a virtual link */
	int parent;	  /* index of its NIC; 0: none */
	char *mac;
	char *permanent_mac; /* NULL: a virtual link */
	guint mtu;
	gboolean up;
	guint32 group;
	gint64 readdressed_us; /* the last change of its addresses on the host, other than by CNI */
	GArray *addresses;     /* of RdmadAddress */
	GArray *neighbours;    /* of RdmadNeighbour */
	GHashTable *sysctls;   /* "ipv4/rp_filter" -> value */
} NetworkLink;

struct Netns {
	const TreeFile *file;
	char *path; /* NULL: removed, but still held or not destroyed yet */
	guint slot;
	gint64 dies_us;	  /* time of its destruction */
	GPtrArray *links; /* of NetworkLink */
	GArray *routes;	  /* of RdmadRoute */
	GArray *rules;	  /* of RdmadRule */
};

/* Starts with the host and its NICs only; files are below `root`. */
void network_begin(const char *root, Decisions *decisions);
void network_end(void);
/* Removes all other namespaces and restores the host. */
void network_reboot(void);

/* Elastic NICs: the host's last NIC is the primary one, with the default route.  The NICs of the
 * mask `bare` are down and have no address until a program configures them.  Call before the first
 * life. */
#define NETWORK_PRIMARY	       (NETWORK_NICS - 1)
#define NETWORK_PRIMARY_METRIC 100u
void network_set_elastic(guint bare);
gboolean network_is_elastic(void);
/* Returns "10.NET.NUMBER.HOST", of which `host` may have a prefix. */
RdmadIp network_ip(guint net, guint number, const char *host);
/* Returns the MAC address of a NIC (g_free()). */
char *network_nic_mac(guint nic);
/* Returns NULL while the NIC is not in the host. */
NetworkLink *network_nic_on_host(guint nic);

Netns *network_host(void);
/* Makes a namespace with a link eth0 of another plugin. */
Netns *network_netns_new(void);
/* A program of the pod changes each NIC, and makes a link in its place. */
void network_disguise(Netns *netns);
/* Removes the path.  The namespace is destroyed a moment later, or when nobody has it open. */
void network_netns_remove(Netns *netns);
/* Returns the time of the next destruction; G_MAXINT64: none is pending. */
gint64 network_due_us(void);
void network_work(void);
/* Returns NULL if there is no such link. */
NetworkLink *network_link(const Netns *netns, const char *name);
/* Tells rdmad's watch that links, addresses, routes or rules of the host have changed. */
void network_host_changed(void);
/* Makes all changes fail, like a kernel without memory. */
void network_set_refusing(gboolean refuses);

/* ---- functions for the executor ---- */

/* Sets the namespace of the executor's thread; NULL: the host. */
void network_enter(Netns *netns);
/* Returns NULL if the descriptor is not that of a namespace. */
Netns *network_of_fd(int fd);
RdmadNetwork *network_handle(Netns *netns);

/* ---- functions for network-calls.c ---- */

GPtrArray *network_all(void); /* of Netns */
NetworkLink *network_link_of_index(const Netns *netns, int index);
NetworkLink *network_link_add(Netns *netns, const char *kind, const char *name);
/* Removes a link of this namespace. */
void network_link_remove(Netns *netns, NetworkLink *link);
void network_link_move(Netns *from, NetworkLink *link, Netns *to);
void network_link_set_up(Netns *netns, NetworkLink *link, gboolean up);
gboolean network_name_is_taken(const Netns *netns, const NetworkLink *but, const char *name);
/* Call when CNI moves or restores a NIC of the host. */
void network_link_touched(NetworkLink *link);
/* Add, or change, and remove an address, with the route of its network. */
void network_address_set(Netns *netns, NetworkLink *link, const RdmadAddress *address);
void network_address_remove(Netns *netns, NetworkLink *link, const RdmadIp *ip);
/* Returns NULL if the link does not have the address. */
RdmadAddress *network_address_find(const NetworkLink *link, const RdmadIp *ip);
Netns *network_entered(void);
/* Returns whether a change fails because of the current fault. */
gboolean network_refuses(void);
gboolean network_decide(guint rarity);

/* ---- functions for the judge ---- */

/* Returns how a NIC differs from its initial state on the host; NULL: not at all. */
char *network_nic_differs(guint nic);
/* Returns whether CNI, which may have read the addresses of a NIC before, moved or restored it soon
 * after they were changed: module erdma takes what CNI has restored for the work of others, also
 * after a reboot. */
gboolean network_nic_is_stale(guint nic);
/* Returns the namespace of a NIC. */
const Netns *network_place_of_nic(guint nic);
/* Returns the number of links that were added to a namespace other than the host. */
guint network_links_made(const Netns *netns);
