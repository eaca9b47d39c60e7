/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim folder: what a container can read about its claim
 *
 *	<run_dir>/claims/<claim id>/nccl.conf
 *
 * It is there before kubelet hears of the claim, is seen as /run/rdmad, read-only, in the container,
 * and goes when the claim ends.  Files change by being replaced: the container sees it at once.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CLAIM_FOLDER_MOUNT "/run/rdmad" /* in the container */
#define RDMAD_CLAIM_NCCL_CONF	 "nccl.conf"

/* `run_dir`: rdmad_module_run_dir(). */
char *rdmad_claim_folder_path(const char *run_dir, const char *claim_id);

/* For a new holder: the folder with its files as they are at first, whatever an earlier holder of
 * the same claim had.  RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_begin(const char *run_dir, const char *claim_id, GError **error);
/* The same for a holder that may be there already: what is missing.  RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_keep(const char *run_dir, const char *claim_id, GError **error);
/* Writes or replaces `file`.  RDMAD_ERROR_NOT_FOUND: the claim has no folder, so it has ended;
 * RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_write(const char *run_dir, const char *claim_id, const char *file,
				  const char *text, GError **error);
/* None there is fine.  RDMAD_ERROR_FAILED. */
gboolean rdmad_claim_folder_remove(const char *run_dir, const char *claim_id, GError **error);

/* Removes the folders of claims that are not in the table. */
void rdmad_claim_folder_sweep(const char *run_dir, RdmadClaims *claims);
