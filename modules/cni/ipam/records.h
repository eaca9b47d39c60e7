/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the processes of IPAM plugins that run, a file each
 *
 * A record is there before the program begins, and lasts as long as the process, not longer than the
 * boot: so it is in the run directory and costs no flush of the disk.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct CniIpamRecords CniIpamRecords;

/* Ends the processes that an earlier rdmad left, with their children, and waits for that, bounded: none
 * writes anything once this has returned.  NULL: RDMAD_ERROR_FAILED. */
CniIpamRecords *cni_ipam_records_open(const char *run_dir, GError **error);
void cni_ipam_records_free(CniIpamRecords *records);

gboolean cni_ipam_records_add(CniIpamRecords *records, pid_t pid, const char *container_id,
			      GError **error);
void cni_ipam_records_remove(CniIpamRecords *records, pid_t pid);
