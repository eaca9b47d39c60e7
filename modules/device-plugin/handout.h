/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handout: what a claim's container finds on the node, beside what kubelet is told to give to it
 *
 * It is there before kubelet is told, follows the devices, and goes when the claim ends.  When rdmad
 * stops it stays, for the containers run on; the next start removes what has no claim.
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

/* Takes over what an earlier run left; removes what no claim has. */
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
