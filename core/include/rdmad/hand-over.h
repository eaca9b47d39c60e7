/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-over: what another rdmad of this node goes on with
 *
 * A rolling update starts an rdmad beside the one that runs.  What others would notice if it ended with the
 * old process (kubelet's connections) is a part: descriptors, and a state that describes them.  The old
 * one gives its parts when its other work is done; then it ends, and the new one begins with them.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	/* Nothing may begin in the part any more; answered by rdmad_hand_over_part_still(). */
	void (*freeze)(gpointer data);
	/* The state, and descriptors for one message (message-socket.h), which are borrowed; NULL: there is
	 * nothing to give.  Not called before the part is still. */
	struct json_t *(*give)(int *fds, guint *n_fds, gpointer data);
} RdmadHandOverOps;

/* `name` is what the successor asks for: "device-plugin/rdma/hca".  `ops` must outlive the part. */
RDMAD_API RdmadHandOverPart *rdmad_hand_over_add(RdmadHandOver *hand_over, RdmadModule *owner,
						 const char *name, const RdmadHandOverOps *ops,
						 gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* NULL is fine. */
RDMAD_API void rdmad_hand_over_part_free(RdmadHandOverPart *part);
RDMAD_API void rdmad_hand_over_part_still(RdmadHandOverPart *part);
/* A module that drains leaves its parts as they are: they are frozen when all modules have drained. */
RDMAD_API gboolean rdmad_hand_over_under_way(const RdmadHandOver *hand_over);

/* A part of the previous process. */
typedef struct {
	struct json_t *state;
	int *fds; /* set those that you take to -1; the others are closed with the part */
	guint n_fds;
} RdmadInheritedPart;

/* Returns the inherited part of that name, or NULL if there is none or it was taken. */
RDMAD_API RdmadInheritedPart *rdmad_hand_over_take(RdmadHandOver *hand_over, const char *name);
/* Closes the inherited parts whose names begin with `prefix` and are not in `names`, which ends with NULL. */
RDMAD_API void rdmad_hand_over_close_others(RdmadHandOver *hand_over, const char *prefix,
					    const char *const *names);
RDMAD_API void rdmad_inherited_part_free(RdmadInheritedPart *part);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadInheritedPart, rdmad_inherited_part_free)
