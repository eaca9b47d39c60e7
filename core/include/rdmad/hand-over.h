/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-over: descriptors and state that a successor inherits
 *
 * A rolling update starts the successor while the previous rdmad still runs.  A part is an object
 * that must survive the previous process, such as kubelet's connections: its descriptors, and the
 * state that describes them.  The previous process freezes its parts when its other work is done,
 * gives them, and ends.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	/* Lets nothing new begin in the part.  The part then calls rdmad_hand_over_part_still(). */
	void (*freeze)(gpointer data);
	/* Returns the state, or NULL if there is nothing to give, and stores borrowed
	 * descriptors, as many as one message carries (message-socket.h).  Not called before the
	 * part is still. */
	struct json_t *(*give)(int *fds, guint *n_fds, gpointer data);
} RdmadHandOverOps;

/* The successor takes the part by its `name`: "device-plugin/rdma/hca".  `ops` must outlive the
 * part. */
RDMAD_API RdmadHandOverPart *rdmad_hand_over_add(RdmadHandOver *hand_over, RdmadModule *owner,
						 const char *name, const RdmadHandOverOps *ops,
						 gpointer data) G_GNUC_WARN_UNUSED_RESULT;
/* Does nothing if `part` is NULL. */
RDMAD_API void rdmad_hand_over_part_free(RdmadHandOverPart *part);
/* Reports that everything that had begun in the part has ended. */
RDMAD_API void rdmad_hand_over_part_still(RdmadHandOverPart *part);
/* Returns whether a hand-over runs.  A module that drains then leaves its parts unchanged: they are
 * frozen when all modules have drained. */
RDMAD_API gboolean rdmad_hand_over_under_way(const RdmadHandOver *hand_over);

/* A part of the previous process. */
typedef struct {
	struct json_t *state;
	int *fds; /* a descriptor that was taken is set to -1; others are closed with the part */
	guint n_fds;
} RdmadInheritedPart;

/* Returns the inherited part of that name, or NULL if there is none or it was taken. */
RDMAD_API RdmadInheritedPart *rdmad_hand_over_take(RdmadHandOver *hand_over, const char *name);
/* Closes the inherited parts whose names begin with `prefix` and are not in `names`, which ends
 * with NULL. */
RDMAD_API void rdmad_hand_over_close_others(RdmadHandOver *hand_over, const char *prefix,
					    const char *const *names);
RDMAD_API void rdmad_inherited_part_free(RdmadInheritedPart *part);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadInheritedPart, rdmad_inherited_part_free)
