/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a device: the number of objects that a program may create
 *
 * Source: ibv_query_device_ex(3), ibv_query_port(3).  All are upper bounds from the driver; memory,
 * firmware and other users reduce them.
 */
#pragma once

#include <rdmad/types.h>

struct ibv_context;
struct ibv_device_attr_ex;

typedef enum {
	RDMAD_ATOMIC_NONE,
	RDMAD_ATOMIC_HCA,    /* among the queue pairs of this device */
	RDMAD_ATOMIC_GLOBAL, /* also with processors and other devices */
} RdmadAtomicCap;

typedef enum {
	RDMAD_PAGING_NONE,     /* registered memory is pinned */
	RDMAD_PAGING_EXPLICIT, /* on demand, for regions that request it */
	RDMAD_PAGING_IMPLICIT, /* also for a whole address space */
} RdmadPaging;

typedef struct {
	guint gid_tbl_len; /* includes empty entries */
	guint max_msg_sz;  /* bytes */
	guint max_mtu;	   /* bytes of payload, 256 to 4096; 0: unknown */
} RdmadPortLimits;

typedef struct {
	guint max_qp, max_qp_wr, max_sge; /* queue pairs; work requests and segments of each */
	guint max_cq, max_cqe;		  /* completion queues; entries of each */
	guint max_mr;			  /* memory regions */
	guint64 max_mr_size;		  /* bytes of a region; G_MAXUINT64: no limit */
	guint64 page_size_cap;		  /* bit mask of the supported sizes in bytes */
	guint max_pd, max_srq, max_ah;
	guint phys_port_cnt;
	RdmadAtomicCap atomic_cap;
	RdmadPaging paging;
	guint n_ports;
	RdmadPortLimits ports[]; /* port 1 first */
} RdmadVerbsLimits;

/* Queries the driver, which may block.  Returns NULL with errno on failure. */
RdmadVerbsLimits *rdmad_verbs_limits_query(struct ibv_context *context);
/* Returns the limits of the device, with `n_ports` ports of zeros; g_free(). */
RdmadVerbsLimits *rdmad_verbs_limits_new(const struct ibv_device_attr_ex *attr, guint n_ports);
/* Return "none", "hca", "global", and "none", "explicit", "implicit". */
const char *rdmad_atomic_cap_name(RdmadAtomicCap cap);
const char *rdmad_paging_name(RdmadPaging paging);
