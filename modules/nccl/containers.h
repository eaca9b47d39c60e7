/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: those that hold allocations, each with its plan, kept true as devices, allocations and
 * attachments change. */
#pragma once

#include <rdmad/module.h>

#include "container.h"

typedef struct NcclContainers NcclContainers;

/* `settings` is read at each update, so that a reload takes effect with nccl_containers_replan(). */
NcclContainers *nccl_containers_new(RdmadModule *self, NcclSettings *const *settings);
void nccl_containers_free(NcclContainers *containers);

/* Plans again with new settings. */
void nccl_containers_replan(NcclContainers *containers);

guint nccl_containers_count(const NcclContainers *containers);
/* Steps through them in the order of their keys: `at` is NULL before the first.  FALSE: that was the last. */
gboolean nccl_containers_next(const NcclContainers *containers, GTreeNode **at,
			      const NcclContainer **container);
/* The container that holds an allocation, or NULL. */
const NcclContainer *nccl_containers_holding(const NcclContainers *containers,
					     const char *allocation);
/* Plans of running containers that were replaced. */
guint64 nccl_containers_changes(const NcclContainers *containers);
