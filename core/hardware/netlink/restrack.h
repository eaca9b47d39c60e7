/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA netlink: the holders of a device's objects
 *
 * Objects are counted while the answers come, not kept: a device may have hundreds of thousands.
 * Source: drivers/infiniband/core/{nldev,restrack}.c (since 4.17).
 */
#pragma once

#include <rdmad/counters.h>

#include "hardware/netlink/socket.h"

#define RDMAD_RESTRACK_PIDS_MAX 4096u

/* By pid, which is of the thread that made the objects.  0: users without a process here: the kernel
 * itself, threads that have ended, other pid namespaces, and all after the first
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
/* Number of each kind, from the response to RDMA_NLDEV_CMD_RES_GET; otherwise unchanged. */
void rdmad_restrack_parse_summary(const struct nlmsghdr *msg, guint64 totals[RDMAD_USES_KINDS]);
/* Of RdmadRestrackUser, sorted by pid, without those who have nothing; none are left then. */
GArray *rdmad_restrack_take_users(RdmadRestrack *restrack);

/* The errno is rdmad_netlink_errnum()'s.  `device`: RDMA netlink's index. */
gboolean rdmad_restrack_get_summary(RdmadNetlink *nl, guint device,
				    guint64 totals[RDMAD_USES_KINDS], GError **error);
/* TRUE: no more of the answer is wanted. */
typedef gboolean (*RdmadRestrackStop)(gpointer data);
/*
 * Counts the objects of one kind.  The driver may query its firmware for each queue pair: `stop` is
 * called between messages, and ends it with RDMAD_ERROR_LIMIT.
 */
gboolean rdmad_restrack_get(RdmadNetlink *nl, guint device, RdmadUses kind, RdmadRestrack *restrack,
			    RdmadRestrackStop stop, gpointer data, GError **error);
