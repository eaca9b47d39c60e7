/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA netlink: the users of a device's objects
 *
 * Objects are counted as the responses arrive, not kept: a device may have hundreds of thousands.
 * Source: drivers/infiniband/core/{nldev,restrack}.c (since 4.17).
 */
#pragma once

#include <rdmad/counters.h>

#include "hardware/netlink/socket.h"

#define RDMAD_RESTRACK_PIDS_MAX 4096u

/* Counts by pid, which is that of the creating thread.  Pid 0 counts users without a process here:
 * the kernel, ended threads, other PID namespaces, and all after the first
 * RDMAD_RESTRACK_PIDS_MAX. */
typedef struct {
	guint pid;
	guint objects[RDMAD_USES_KINDS];
} RdmadRestrackUser;

typedef struct RdmadRestrack RdmadRestrack;

RdmadRestrack *rdmad_restrack_new(void);
void rdmad_restrack_free(RdmadRestrack *restrack);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadRestrack, rdmad_restrack_free)

/* Sets the number of a kind without owners, replacing its counts by owner. */
void rdmad_restrack_set_unlisted(RdmadRestrack *restrack, RdmadUses kind, guint64 total);
/* Counts the objects of one message. */
void rdmad_restrack_parse(RdmadRestrack *restrack, RdmadUses kind, const struct nlmsghdr *msg);
/* Gets the number of each kind from the response to RDMA_NLDEV_CMD_RES_GET; ignores other
 * messages. */
void rdmad_restrack_parse_summary(const struct nlmsghdr *msg, guint64 totals[RDMAD_USES_KINDS]);
/* Returns an array of RdmadRestrackUser, sorted by pid, without users that have no objects, and
 * empties the counts. */
GArray *rdmad_restrack_take_users(RdmadRestrack *restrack);

/* rdmad_netlink_errnum() returns the errno.  `device` is the index in RDMA netlink. */
gboolean rdmad_restrack_get_summary(RdmadNetlink *nl, guint device,
				    guint64 totals[RDMAD_USES_KINDS], GError **error);
/* Returns TRUE to end the response. */
typedef gboolean (*RdmadRestrackStop)(gpointer data);
/* Counts the objects of one kind.  The driver may query its firmware for each queue pair, so `stop`
 * is called between messages; RDMAD_ERROR_LIMIT if it returned TRUE. */
gboolean rdmad_restrack_get(RdmadNetlink *nl, guint device, RdmadUses kind, RdmadRestrack *restrack,
			    RdmadRestrackStop stop, gpointer data, GError **error);
