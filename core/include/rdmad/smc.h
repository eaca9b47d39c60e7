/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SMC-R: the kernel's table of physical networks, its EIDs, and its sockets
 *
 * All of it is of the network namespace of the calling thread, but the EIDs and RDMA devices, which are
 * the machine's; the entries of RDMA devices can be read and written in the host's namespace alone.
 * All block: for jobs and the executor.  RDMAD_ERROR_NOT_FOUND: the kernel has no SMC, or its module
 * is not loaded.
 *
 * Sources: include/uapi/linux/{smc,smc_diag}.h, net/smc/{smc_pnet,smc_clc,smc_netlink,smc_diag}.c.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_SMC_PNETID_MAX 16u
#define RDMAD_SMC_EID_MAX    32u

/* 1 to 16 letters and digits, upper-case: the kernel would make them so.  RDMAD_ERROR_INVALID. */
RDMAD_API gboolean rdmad_smc_pnetid_check(const char *pnetid, GError **error);
/* 1 to 32 of A-Z, 0-9, "." and "-", the first a letter or digit, and none of two dots. */
RDMAD_API gboolean rdmad_smc_eid_check(const char *eid, GError **error);
RDMAD_API gboolean rdmad_smc_pnetid_is_valid(const char *pnetid);
RDMAD_API gboolean rdmad_smc_eid_is_valid(const char *eid);

typedef struct {
	char *pnetid;
	char *netdev; /* NULL: an entry of an RDMA device */
	char *device; /* NULL: an entry of an interface */
} RdmadSmcPnet;

RDMAD_API void rdmad_smc_pnet_free(gpointer pnet);
/* Of RdmadSmcPnet. */
RDMAD_API GPtrArray *rdmad_smc_pnets_list(GError **error);
/* One of `netdev` and `device` is NULL.  One that is there already is fine; RDMAD_ERROR_BUSY: the
 * interface or device has another PNETID. */
RDMAD_API gboolean rdmad_smc_pnet_add(const char *pnetid, const char *netdev, const char *device,
				      GError **error);
/* The kernel deletes by PNETID: entries of others under it are put back.  An absent one is fine. */
RDMAD_API gboolean rdmad_smc_pnet_delete(const char *pnetid, const char *netdev, const char *device,
					 GError **error);

/* NULL-terminated; g_strfreev(). */
RDMAD_API char **rdmad_smc_eids_list(GError **error);
/* Both are fine where that is so already.  RDMAD_ERROR_LIMIT: the kernel has four. */
RDMAD_API gboolean rdmad_smc_eid_add(const char *eid, GError **error);
RDMAD_API gboolean rdmad_smc_eid_remove(const char *eid, GError **error);

/* Names of the RDMA devices that the kernel's SMC can use; g_strfreev(). */
RDMAD_API char **rdmad_smc_devices_list(GError **error);

typedef enum {
	RDMAD_SMC_SMCR,
	RDMAD_SMC_TCP,
	RDMAD_SMC_SMCD,
} RdmadSmcMode;

typedef struct {
	const char *state; /* as smcss writes it, "ACTIVE" */
	RdmadSmcMode mode;
	gboolean is_connection; /* it listens not, and has a peer */
	char *local, *peer;	/* "192.0.2.7:80"; peer NULL: none */
	guint32 uid;
	guint64 inode;
	guint32 reason, peer_reason; /* of a fallback to TCP; 0: none */
} RdmadSmcSocket;

RDMAD_API void rdmad_smc_socket_free(gpointer socket);
/* `diag`: a socket of NETLINK_SOCK_DIAG, whose namespace it is; closed.  Of RdmadSmcSocket, 65536 at
 * most.  RDMAD_ERROR_NOT_FOUND: there is no smc_diag. */
RDMAD_API GPtrArray *rdmad_smc_sockets_list(int diag, GError **error);

/* "no-smc-device": a word for metrics; unknown ones are "other". */
RDMAD_API const char *rdmad_smc_reason_name(guint32 reason);
/* "the peer does not support SMC": a line for people. */
RDMAD_API const char *rdmad_smc_reason_text(guint32 reason);
/* "SMCR", "TCP", "SMCD" */
RDMAD_API const char *rdmad_smc_mode_name(RdmadSmcMode mode);
