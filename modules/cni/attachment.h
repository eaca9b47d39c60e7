/* SPDX-License-Identifier: Apache-2.0 */
/* An attachment: the interfaces that one ADD gave a pod, and the data to take them back. */
#pragma once

#include <rdmad/netns.h>

#include "request.h"
#include "settings.h"

typedef enum {
	CNI_STATE_BEGUN,   /* IPAM may have been asked, nothing else */
	CNI_STATE_PLANNED, /* some of the steps may have been done */
	CNI_STATE_DONE,
	CNI_STATE_LEFT, /* its DEL was answered, and something could not be undone yet */
} CniState;

/* One NIC of it. */
typedef struct {
	char *ifname;	 /* in the pod */
	char *device_id; /* stable */
	CniMode mode;
	char *allocation, *slot_id; /* NULL: none */
	char *rdma_device;	    /* as it is called in the pod; NULL: none */
	char **addresses;	    /* "192.0.2.7/24" */
	int gid_index;		    /* RDMAD_UNKNOWN: not waited for */
	gboolean ipam;		    /* its ADD of the IPAM plugin was begun */
} CniNic;

typedef struct {
	char *network, *container_id, *ifname; /* the key */
	CniState state;
	char *netns;
	RdmadNetnsId netns_id;
	char *boot;
	char *pod_namespace, *pod_name; /* may be NULL */
	char *environment;		/* "NAME=value", a line each */
	char *config;			/* the network, as it came */
	GPtrArray *nics;		/* of CniNic */
	char *steps;			/* JSON; NULL: none yet */
	char *result;			/* JSON of the newest version; NULL: not done */
	gint64 since_us;
	gboolean asked_ipam; /* the IPAM plugin, for any NIC: what that keeps outlives the boot */
} CniAttachment;

CniAttachment *cni_attachment_new(const CniRequest *request, const RdmadNetnsId *netns,
				  const char *boot);
void cni_attachment_free(gpointer attachment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniAttachment, cni_attachment_free)

CniNic *cni_attachment_add_nic(CniAttachment *attachment);
/* "container/ifname/network", which is how it is kept; g_free() */
char *cni_attachment_key(const char *network, const char *container_id, const char *ifname);

/* The NICs as JSON on one line, and back.  RDMAD_ERROR_INVALID. */
char *cni_nics_text(const CniAttachment *attachment);
gboolean cni_nics_parse(CniAttachment *attachment, const char *text, GError **error);

/* TRUE only where it is known to be: it is another one's path, no path, or of another boot. */
gboolean cni_attachment_netns_is_gone(const CniAttachment *attachment, const char *boot);
