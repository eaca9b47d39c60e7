/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SMC-R: the kernel's table of physical networks, its EIDs, and its sockets
 *
 * Functions without a socket act on the network namespace of the calling thread; EIDs and RDMA
 * devices are those of the machine.  Entries of RDMA devices can be read and written only in the
 * host's namespace.  Functions that send requests block: for jobs and the executor.  They fail with
 * RDMAD_ERROR_NOT_FOUND if the kernel has no SMC, or its module is not loaded.
 *
 * Sources: include/uapi/linux/{smc,smc_diag}.h, net/smc/{smc_pnet,smc_clc,smc_netlink,smc_diag}.c.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_SMC_PNETID_MAX 16u
#define RDMAD_SMC_EID_MAX    32u

/* Check for 1 to 16 upper-case letters and digits (the kernel would convert lower case), and for 1
 * to 32 of A-Z, 0-9, "." and "-", of which the first is a letter or digit, without "..".
 * RDMAD_ERROR_INVALID. */
RDMAD_API gboolean rdmad_smc_pnetid_check(const char *pnetid, GError **error);
RDMAD_API gboolean rdmad_smc_eid_check(const char *eid, GError **error);
RDMAD_API gboolean rdmad_smc_pnetid_is_valid(const char *pnetid);
RDMAD_API gboolean rdmad_smc_eid_is_valid(const char *eid);

typedef struct {
	char *pnetid;
	char *netdev; /* NULL: an entry of an RDMA device */
	char *device; /* NULL: an entry of an interface */
} RdmadSmcPnet;

RDMAD_API void rdmad_smc_pnet_free(gpointer pnet);
/* Returns an array of RdmadSmcPnet, which frees them. */
RDMAD_API GPtrArray *rdmad_smc_pnets_list(GError **error);
/* Adds an entry; one of `netdev` and `device` is NULL.  Does nothing if the entry exists.
 * RDMAD_ERROR_INVALID; RDMAD_ERROR_BUSY: the interface or device has another PNETID. */
RDMAD_API gboolean rdmad_smc_pnet_add(const char *pnetid, const char *netdev, const char *device,
				      GError **error);
/* Deletes an entry, if it exists.  The kernel deletes by PNETID, so other entries with it are added
 * again. */
RDMAD_API gboolean rdmad_smc_pnet_delete(const char *pnetid, const char *netdev, const char *device,
					 GError **error);

/* Returns the EIDs; g_strfreev(). */
RDMAD_API char **rdmad_smc_eids_list(GError **error);
/* Add or remove an EID; nothing is done if it is already added or removed.  RDMAD_ERROR_INVALID;
 * RDMAD_ERROR_LIMIT: the kernel has the maximum, four. */
RDMAD_API gboolean rdmad_smc_eid_add(const char *eid, GError **error);
RDMAD_API gboolean rdmad_smc_eid_remove(const char *eid, GError **error);

/* Returns the names of the RDMA devices that the kernel's SMC can use; g_strfreev(). */
RDMAD_API char **rdmad_smc_devices_list(GError **error);

typedef enum {
	RDMAD_SMC_SMCR,
	RDMAD_SMC_TCP,
	RDMAD_SMC_SMCD,
} RdmadSmcMode;

typedef struct {
	const char *state; /* as in the output of smcss(8), "ACTIVE" */
	RdmadSmcMode mode;
	gboolean is_connection; /* not listening, and with a peer */
	char *local, *peer;	/* "192.0.2.7:80"; peer NULL: none */
	guint32 uid;
	guint64 inode;
	guint32 reason, peer_reason; /* of a fallback to TCP; 0: none */
} RdmadSmcSocket;

RDMAD_API void rdmad_smc_socket_free(gpointer socket);
/* Returns an array of RdmadSmcSocket, which frees them, of at most 65536 sockets in the
 * namespace of `diag`, a socket of NETLINK_SOCK_DIAG, which is closed.  RDMAD_ERROR_NOT_FOUND:
 * no smc_diag. */
RDMAD_API GPtrArray *rdmad_smc_sockets_list(int diag, GError **error);

/* Returns a static word for metrics, "no-smc-device", or "other" for an unknown reason. */
RDMAD_API const char *rdmad_smc_reason_name(guint32 reason);
/* Returns a static line for people: "the peer does not support SMC". */
RDMAD_API const char *rdmad_smc_reason_text(guint32 reason);
/* Returns "SMCR", "TCP" or "SMCD". */
RDMAD_API const char *rdmad_smc_mode_name(RdmadSmcMode mode);
