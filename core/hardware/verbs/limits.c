/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/verbs/limits.h"

#include <errno.h>
#include <infiniband/verbs.h>

static RdmadAtomicCap atomic_cap(const struct ibv_device_attr *attr)
{
	switch (attr->atomic_cap) {
	case IBV_ATOMIC_NONE:
		break;
	case IBV_ATOMIC_HCA:
		return RDMAD_ATOMIC_HCA;
	case IBV_ATOMIC_GLOB:
		return RDMAD_ATOMIC_GLOBAL;
	}
	return RDMAD_ATOMIC_NONE;
}

static RdmadPaging paging(const struct ibv_odp_caps *caps)
{
	if (!(caps->general_caps & IBV_ODP_SUPPORT))
		return RDMAD_PAGING_NONE;
	return caps->general_caps & IBV_ODP_SUPPORT_IMPLICIT ? RDMAD_PAGING_IMPLICIT
							     : RDMAD_PAGING_EXPLICIT;
}

/* The kernel's numbers are unsigned, although libibverbs declares some of them signed. */
RdmadVerbsLimits *rdmad_verbs_limits_new(const struct ibv_device_attr_ex *ex, guint n_ports)
{
	const struct ibv_device_attr *attr = &ex->orig_attr;
	RdmadVerbsLimits *limits =
		g_malloc0(sizeof(RdmadVerbsLimits) + n_ports * sizeof(RdmadPortLimits));

	limits->max_qp = (guint)attr->max_qp;
	limits->max_qp_wr = (guint)attr->max_qp_wr;
	limits->max_sge = (guint)attr->max_sge;
	limits->max_cq = (guint)attr->max_cq;
	limits->max_cqe = (guint)attr->max_cqe;
	limits->max_mr = (guint)attr->max_mr;
	limits->max_mr_size = attr->max_mr_size;
	limits->page_size_cap = attr->page_size_cap;
	limits->max_pd = (guint)attr->max_pd;
	limits->max_srq = (guint)attr->max_srq;
	limits->max_ah = (guint)attr->max_ah;
	/* 255 is the maximum of the older field. */
	limits->phys_port_cnt = MAX(attr->phys_port_cnt, ex->phys_port_cnt_ex);
	limits->atomic_cap = atomic_cap(attr);
	limits->paging = paging(&ex->odp_caps);
	limits->n_ports = n_ports;
	return limits;
}

static void port_query(struct ibv_context *context, guint8 number, RdmadPortLimits *port)
{
	struct ibv_port_attr attr = { 0 };

	if (ibv_query_port(context, number, &attr) != 0)
		return;
	port->gid_tbl_len = (guint)MAX(attr.gid_tbl_len, 0);
	port->max_msg_sz = attr.max_msg_sz;
	if (attr.max_mtu >= IBV_MTU_256 && attr.max_mtu <= IBV_MTU_4096)
		port->max_mtu = 128u << attr.max_mtu;
}

RdmadVerbsLimits *rdmad_verbs_limits_query(struct ibv_context *context)
{
	struct ibv_device_attr_ex attr = { 0 };
	RdmadVerbsLimits *limits;

	errno = ibv_query_device_ex(context, NULL, &attr);
	if (errno)
		return NULL;
	limits = rdmad_verbs_limits_new(&attr, attr.orig_attr.phys_port_cnt);
	for (guint i = 0; i < limits->n_ports; i++)
		port_query(context, (guint8)(i + 1), &limits->ports[i]);
	return limits;
}

const char *rdmad_atomic_cap_name(RdmadAtomicCap cap)
{
	static const char *const names[] = { "none", "hca", "global" };

	return names[cap];
}

const char *rdmad_paging_name(RdmadPaging paging)
{
	static const char *const names[] = { "none", "explicit", "implicit" };

	return names[paging];
}
