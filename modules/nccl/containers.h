/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: the containers with allocations and their plans, updated as devices, allocations and
 * attachments change */
#pragma once

#include <rdmad/module.h>

#include "container.h"

typedef struct NcclContainers NcclContainers;

/* `settings` is read at each update; after a reload, call nccl_containers_replan(). */
NcclContainers *nccl_containers_new(RdmadModule *self, NcclSettings *const *settings);
void nccl_containers_free(NcclContainers *containers);

/* Plans all containers again. */
void nccl_containers_replan(NcclContainers *containers);

guint nccl_containers_count(const NcclContainers *containers);
/* Iterates over the containers in the order of their keys.  `at` is NULL before the first.  Returns
 * FALSE after the last. */
gboolean nccl_containers_next(const NcclContainers *containers, GTreeNode **at,
			      const NcclContainer **container);
/* Returns the container of an allocation, or NULL. */
const NcclContainer *nccl_containers_holding(const NcclContainers *containers,
					     const char *allocation);
/* Returns the number of plans replaced while their container was running. */
guint64 nccl_containers_changes(const NcclContainers *containers);
