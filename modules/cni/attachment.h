/* SPDX-License-Identifier: Apache-2.0 */
/* An attachment: the interfaces that one ADD gave a pod, and the data to undo it */
#pragma once

#include <rdmad/netns.h>

#include "request.h"
#include "settings.h"

typedef enum {
	CNI_STATE_BEGUN,   /* the IPAM plugin may have been called, nothing else */
	CNI_STATE_PLANNED, /* any of the steps may have been executed; no steps: all are undone,
			    * and only the IPAM plugin's part is left */
	CNI_STATE_DONE,
	CNI_STATE_LEFT,	  /* the DEL succeeded; a part could not be undone yet */
	CNI_STATE_UNDONE, /* nothing is left, and the runtime, which waits for an ADD, has not
			     called DEL */
} CniState;

/* One NIC of an attachment. */
typedef struct {
	char *ifname;	 /* in the pod */
	char *device_id; /* stable identifier */
	CniMode mode;
	char *allocation, *slot_id; /* NULL: no allocation */
	char *rdma_device;	    /* name in the pod; NULL: none */
	char **addresses;	    /* "192.0.2.7/24" */
	int gid_index;		    /* RDMAD_UNKNOWN: no step waits for it */
	gboolean ipam;	  /* an ADD of the IPAM plugin was started, and no DEL succeeded since */
	gboolean refused; /* that ADD was refused: the DEL may be, too */
	char *ranges;	  /* for the IPAM plugin: runtimeConfig.ipRanges; NULL: none */
} CniNic;

typedef struct {
	char *network, *container_id, *ifname; /* the key */
	CniState state;
	char *netns;
	RdmadNetnsId netns_id;
	char *boot;
	char *pod_namespace, *pod_name; /* may be NULL */
	char *environment;		/* "NAME=value", a line each */
	char *config;			/* the network configuration, as received */
	GPtrArray *nics;		/* of CniNic */
	char *steps;			/* JSON; NULL: not planned yet */
	char *result;			/* JSON in CNI_NEWEST; NULL: not done */
	gint64 since_us;
	gboolean asked_ipam;  /* IPAM was called for any NIC; its state outlives the boot */
	gboolean undo_failed; /* since rdmad has started */
} CniAttachment;

CniAttachment *cni_attachment_new(const CniRequest *request, const RdmadNetnsId *netns,
				  const char *boot);
void cni_attachment_free(gpointer attachment);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniAttachment, cni_attachment_free)

CniNic *cni_attachment_add_nic(CniAttachment *attachment);
/* Returns "container/ifname/network", the key in the journal.  g_free(). */
char *cni_attachment_key(const char *network, const char *container_id, const char *ifname);

/* Returns the index of the first NIC, `from` or behind it, for which the IPAM plugin was called or
 * is to be called; the number of NICs if there is none. */
guint cni_attachment_next_ipam(const CniAttachment *attachment, guint from);

/* The NICs as one line of JSON.  cni_nics_parse() fails with RDMAD_ERROR_INVALID. */
char *cni_nics_text(const CniAttachment *attachment);
gboolean cni_nics_parse(CniAttachment *attachment, const char *text, GError **error);

/* Returns TRUE only if the namespace is known to have ended: the path is unknown, does not exist,
 * or leads to another namespace or to none, or the attachment is of another boot. */
gboolean cni_attachment_netns_is_gone(const CniAttachment *attachment, const char *boot);
