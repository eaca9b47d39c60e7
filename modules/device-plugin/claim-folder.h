/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim folder: what a container can read about its claim
 *
 *	<run_dir>/claims/<claim id>/nccl.conf
 *
 * It is there before kubelet hears of the claim, is seen as /run/rdmad, read-only, in the container,
 * and goes when the claim ends.  See rdmad/allocation-dir.h for how it is written.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CLAIM_FOLDER_MOUNT "/run/rdmad" /* in the container */
#define RDMAD_CLAIM_NCCL_CONF	 "nccl.conf"

/* `run_dir` is rdmad_module_run_dir() in all of these. */

/* For a new holder: the folder with its files as they are at first, whatever an earlier holder of
 * the same claim had.  RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_begin(const char *run_dir, const char *claim_id, GError **error);
/* The same for a holder that may be there already: what is missing.  RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_keep(const char *run_dir, const char *claim_id, GError **error);

/* Removes the folders of claims that are not in the table, and unfinished files of the others. */
void rdmad_claim_folder_sweep(const char *run_dir, RdmadClaims *claims);
