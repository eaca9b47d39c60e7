/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handout: what a claim's container finds on the node, beside what kubelet is told to give to it
 *
 * It is there before kubelet is told, follows the devices, and goes when the claim ends.  When rdmad
 * stops it stays, for the containers run on.  A folder without a claim that the next start finds is
 * removed when no living pod can have it mounted: kubelet, which has run for a minute, lists neither
 * its tokens nor its pod, no claim has its tokens, and the pod's cgroup does not live.  Where
 * claim.json does not say whose it was, no claim at all may be left.
 */
#pragma once

#include <rdmad/claims.h>
#include <rdmad/device.h>

#include "cdi.h"
#include "pool.h"

typedef struct RdmadHandout RdmadHandout;

/* NULL or empty: nothing there. */
typedef struct {
	const char *device_info_dir, *cdi_dir;
} RdmadHandoutFolders;

/* For the claims that module `owner` granted. */
RdmadHandout *rdmad_handout_new(const char *run_dir, const char *owner, RdmadClaims *claims,
				const RdmadHandoutFolders *folders);
void rdmad_handout_free(RdmadHandout *handout);
void rdmad_handout_configure(RdmadHandout *handout, const RdmadHandoutFolders *folders);

/* The id under which a container has these tokens by its folder, though no claim is known; g_free().
 * NULL: there is no such folder. */
char *rdmad_handout_recall(const RdmadHandout *handout, const char *resource,
			   const char *const *tokens);
/* Removes the folders that nobody can have mounted, by the last list.  How many are left. */
guint rdmad_handout_review(RdmadHandout *handout, RdmadPods *pods);
/* Folders without a claim, and claims without a folder. */
void rdmad_handout_doctor(const RdmadHandout *handout, struct json_t *findings);

/* Takes over what an earlier run left. */
void rdmad_handout_load(RdmadHandout *handout);
/* The same; and follows claims and devices from now on. */
void rdmad_handout_start(RdmadHandout *handout, RdmadModule *self);
void rdmad_handout_stop(RdmadHandout *handout);

const char *rdmad_handout_run_dir(const RdmadHandout *handout);
const RdmadCdi *rdmad_handout_cdi(const RdmadHandout *handout);

/* For a claim that is granted now.  RDMAD_ERROR_FAILED. */
gboolean rdmad_handout_begin(RdmadHandout *handout, const RdmadClaim *claim, GError **error);
void rdmad_handout_end(RdmadHandout *handout, const RdmadClaim *claim);

/* What stands behind the id of a device now; NULL: nothing.  rdmad_handout_follow() acts on it. */
void rdmad_handout_set_device(RdmadHandout *handout, const char *id, const RdmadDevice *dev);
void rdmad_handout_follow(RdmadHandout *handout);

/* Names for runtimes: each resource says its devices (`members` of RdmadPoolMember), then they are
 * published, with those that living claims may have been given.  Errors as rdmad_cdi_publish(). */
void rdmad_handout_offer(RdmadHandout *handout, const RdmadResourceSettings *settings,
			 const GArray *members);
gboolean rdmad_handout_publish(RdmadHandout *handout, GError **error);
