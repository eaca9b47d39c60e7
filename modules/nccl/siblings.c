/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of other libraries, for the same rails and GIDs
 *
 * Sources: UCX src/uct/ib/base/ib_iface.c and ib_device.c; NVSHMEM's environment header 3.4;
 * libfabric man/fi_verbs.7; Open MPI's btl openib.
 */
#include "plan.h"

#include <string.h>

/* Returns "mlx5_0:1,mlx5_1:1": NCCL's list without the "=". */
static const char *port_list(const NcclPlan *plan)
{
	return nccl_env_get(plan->env, "NCCL_IB_HCA") + 1;
}

/* Returns the index of all rails, or NULL if they have none in common. */
static const char *common_index(const NcclPlan *plan)
{
	const char *index = nccl_env_get(plan->env, "NCCL_IB_GID_INDEX");

	return index && index[0] != '-' ? index : NULL;
}

static void copy(NcclPlan *plan, const char *to, const char *from)
{
	const char *value = nccl_env_get(plan->env, from);

	if (value)
		nccl_env_set(plan->siblings, to, value, "as NCCL");
}

/* UCX accepts subnets or an index, not both, and selects by itself without them. */
static void fill_ucx(NcclPlan *plan)
{
	nccl_env_set(plan->siblings, "UCX_NET_DEVICES", port_list(plan), "as NCCL");
	if (common_index(plan))
		copy(plan, "UCX_IB_GID_INDEX", "NCCL_IB_GID_INDEX");
	else
		copy(plan, "UCX_IB_ROCE_SUBNETS", "NCCL_IB_ADDR_RANGE");
	copy(plan, "UCX_IB_TRAFFIC_CLASS", "NCCL_IB_TC");
	copy(plan, "UCX_IB_SL", "NCCL_IB_SL");
}

/* NVSHMEM reads NVSHMEM_HCA_LIST only if NICs are mapped to processing elements. */
static void fill_nvshmem(NcclPlan *plan)
{
	nccl_env_set_int(plan->siblings, "NVSHMEM_ENABLE_NIC_PE_MAPPING", 1,
			 "without it the list has no effect");
	nccl_env_set(plan->siblings, "NVSHMEM_HCA_LIST", port_list(plan), "as NCCL");
	copy(plan, "NVSHMEM_IB_GID_INDEX", "NCCL_IB_GID_INDEX");
	copy(plan, "NVSHMEM_IB_ADDR_FAMILY", "NCCL_IB_ADDR_FAMILY");
	copy(plan, "NVSHMEM_IB_ADDR_RANGE", "NCCL_IB_ADDR_RANGE");
	copy(plan, "NVSHMEM_IB_ROCE_VERSION_NUM", "NCCL_IB_ROCE_VERSION_NUM");
	copy(plan, "NVSHMEM_IB_TRAFFIC_CLASS", "NCCL_IB_TC");
	copy(plan, "NVSHMEM_IB_SL", "NCCL_IB_SL");
}

/* libfabric's verbs provider accepts one device name, so it is set for a single device only. */
static void fill_libfabric(NcclPlan *plan)
{
	if (plan->n_selected == 1)
		nccl_env_set(plan->siblings, "FI_VERBS_DEVICE_NAME",
			     nccl_plan_rail(plan, 0)->device->name, "the one device");
	if (common_index(plan))
		copy(plan, "FI_VERBS_GID_IDX", "NCCL_IB_GID_INDEX");
}

/* For btl openib; Open MPI 5 uses only UCX. */
static void fill_openmpi(NcclPlan *plan)
{
	nccl_env_set(plan->siblings, "OMPI_MCA_btl_openib_if_include", port_list(plan), "as NCCL");
	if (common_index(plan))
		copy(plan, "OMPI_MCA_btl_openib_gid_index", "NCCL_IB_GID_INDEX");
	copy(plan, "OMPI_MCA_btl_openib_ib_service_level", "NCCL_IB_SL");
}

void nccl_siblings_fill(NcclPlan *plan, const NcclPolicy *policy)
{
	if (policy->siblings & NCCL_SIBLING_UCX)
		fill_ucx(plan);
	if (policy->siblings & NCCL_SIBLING_NVSHMEM)
		fill_nvshmem(plan);
	if (policy->siblings & NCCL_SIBLING_LIBFABRIC)
		fill_libfabric(plan);
	if (policy->siblings & NCCL_SIBLING_OPENMPI)
		fill_openmpi(plan);
}
