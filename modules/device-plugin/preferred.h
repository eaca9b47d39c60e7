/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pool.h"

/*
 * Which of the tokens that kubelet offers a container should get
 *
 * Distinct devices before two tokens of one; devices of one NUMA node together; among those the ones
 * of which the fewest tokens are in use, so that pods spread over the node; last the order of the
 * list.  Tokens in `must` come first.  Fewer than `size` when not enough of them are known.
 */
typedef struct {
	char *const *available;
	gsize n_available;
	char *const *must;
	gsize n_must;
	gsize size;
} RdmadPreference;

/* Borrowed ids of `preference`. */
GPtrArray *rdmad_preferred_choose(const RdmadPool *pool, const RdmadPreference *preference);

/* Answers a PreferredAllocationRequest.  RDMAD_ERROR_INVALID. */
GBytes *rdmad_preferred_answer(const RdmadPool *pool, const guint8 *message, gsize size,
			       GError **error);
