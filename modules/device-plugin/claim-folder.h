/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim folder: what a container can read about its claim
 *
 *	<run_dir>/claims/<claim id>/nccl.conf
 *	<run_dir>/claims/<claim id>/claim.json
 *
 * It is there before kubelet hears of the claim, is seen as /run/rdmad, read-only, in the container,
 * and goes when the claim ends.  See rdmad/allocation-dir.h for how it is written.
 *
 * claim.json says whose folder it is: {"version": 1, "id", "resource", "tokens", "devices", "mode",
 * "since_us", "pod_namespace", "pod_name", "container"}.  When the database was lost, the claim that
 * is learnt from kubelet gets its id back by it.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CLAIM_FOLDER_MOUNT "/run/rdmad" /* in the container */
#define RDMAD_CLAIM_NCCL_CONF	 "nccl.conf"

/* `run_dir` is rdmad_module_run_dir() in all of these. */

/* For a new holder: the folder with its files as they are at first.  RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_begin(const char *run_dir, const RdmadClaim *claim, GError **error);
/* The same for a holder that may be there already: what is missing.  RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_keep(const char *run_dir, const RdmadClaim *claim, GError **error);
/* Writes claim.json anew.  RDMAD_ERROR_NOT_FOUND: there is no folder; RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_describe(const char *run_dir, const RdmadClaim *claim, GError **error);

/* What claim.json says of a folder; it is checked as the database is. */
typedef struct {
	char *id;	/* the folder's name */
	char *resource; /* NULL: claim.json is missing or wrong, and what follows is unset */
	char **tokens;	/* sorted */
	char *pod_namespace, *pod_name; /* NULL: not known */
	gint64 since_us;
} RdmadClaimNote;

void rdmad_claim_note_free(RdmadClaimNote *note);

/* RdmadClaimNote of each folder whose claim is not in the table; removes unfinished files of the
 * others. */
GPtrArray *rdmad_claim_folder_orphans(const char *run_dir, RdmadClaims *claims);
