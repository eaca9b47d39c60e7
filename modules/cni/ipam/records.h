/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the running processes of IPAM plugins, a file each
 *
 * A record is written before the program starts, and lasts at most as long as the boot, so it is in
 * the run directory and needs no fsync.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct CniIpamRecords CniIpamRecords;

/* Waits a bounded time for the end of the processes that an earlier rdmad left, with their
 * children, and kills those that have not ended, so that none writes anything after this has
 * returned.  Returns NULL if a record or the processes cannot be read; the record stays.
 * RDMAD_ERROR_FAILED, RDMAD_ERROR_INVALID. */
CniIpamRecords *cni_ipam_records_open(const char *run_dir, GError **error);
void cni_ipam_records_free(CniIpamRecords *records);

gboolean cni_ipam_records_add(CniIpamRecords *records, pid_t pid, const char *container_id,
			      GError **error);
void cni_ipam_records_remove(CniIpamRecords *records, pid_t pid);
