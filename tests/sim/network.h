/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's network: namespaces with their links, addresses, routes, rules, neighbours and sysctls
 *
 * network-calls.c stands before rdmad/network.h and rdmad/netns.h and does what they say to this model, so that rdmad's
 * steps (core/network/perform*.c) and its looks run as they are.  A namespace is known by the inode of a file, which
 * a later one may have again.
 *
 * Sources: network_namespaces(7), rtnetlink(7), and what tests/integration has measured: a
 * link that moves keeps MTU, MAC and alternative names, and loses addresses, routes, neighbours and sysctls; the end
 * of a namespace gives a NIC back, down and bare.
 */
#pragma once

#include <rdmad/network.h>

#include "decisions.h"

#define NETWORK_NICS 4u /* of the host, one for each device of the machine */

typedef struct Netns Netns;

typedef struct {
	int index;
	char *name;
	GPtrArray *altnames;
	const char *kind; /* NULL: a NIC */
	guint nic;	  /* its number; NETWORK_NICS: a virtual link */
	int parent;	  /* index of its NIC; 0: none */
	char *mac;
	char *permanent_mac; /* NULL: a virtual link */
	guint mtu;
	gboolean up;
	GArray *addresses;   /* of RdmadAddress */
	GArray *neighbours;  /* of RdmadNeighbour */
	GHashTable *sysctls; /* "ipv4/rp_filter" -> value */
} NetworkLink;

struct Netns {
	ino_t inode;
	char *path; /* NULL: removed, and held by an open descriptor or not taken apart yet */
	guint slot;
	gint64 dies_us; /* when it is taken apart */
	gboolean held;	/* somebody had it open when so many descriptors were closed */
	guint64 closed;
	GPtrArray *links; /* of NetworkLink */
	GArray *routes;	  /* of RdmadRoute */
	GArray *rules;	  /* of RdmadRule */
};

/* The host with its NICs, and no other namespace; files below `root`. */
void network_begin(const char *root, Decisions *decisions);
void network_end(void);
/* All namespaces are gone, and the host is set up as at its start. */
void network_reboot(void);

Netns *network_host(void);
/* With a link eth0 of another plugin. */
Netns *network_netns_new(void);
/* Its path goes; what is in it stays for a moment, or for as long as somebody has it open. */
void network_netns_remove(Netns *netns);
/* When one is taken apart next; G_MAXINT64: none waits for that. */
gint64 network_due_us(void);
void network_work(void);
/* NULL: it has none of that name. */
NetworkLink *network_link(const Netns *netns, const char *name);
/* For a while changes fail, as those of a kernel without memory. */
void network_set_refusing(gboolean refuses);

/* ---- for the executor ---- */

/* The namespace that its thread is in; NULL: the host. */
void network_enter(Netns *netns);
/* NULL: it leads to no namespace. */
Netns *network_of_fd(int fd);
RdmadNetwork *network_handle(Netns *netns);

/* ---- for network-calls.c ---- */

GPtrArray *network_all(void); /* of Netns */
NetworkLink *network_link_of_index(const Netns *netns, int index);
NetworkLink *network_link_add(Netns *netns, const char *kind, const char *name);
/* Of this namespace. */
void network_link_remove(Netns *netns, NetworkLink *link);
void network_link_move(Netns *from, NetworkLink *link, Netns *to);
void network_link_set_up(Netns *netns, NetworkLink *link, gboolean up);
gboolean network_name_is_taken(const Netns *netns, const NetworkLink *but, const char *name);
Netns *network_entered(void);
/* A change that fails, by the fault that is on. */
gboolean network_refuses(void);
gboolean network_decide(guint rarity);

/* ---- for the judge ---- */

/* NULL: the NIC is in the host, as it was at its start; else what is another. */
char *network_nic_differs(guint nic);
/* Where it is. */
const Netns *network_place_of_nic(guint nic);
/* Links of another than the host, besides those that it was made with. */
guint network_links_made(const Netns *netns);
