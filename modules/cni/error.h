/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of the CNI protocol
 *
 * An error for the runtime is a GError of this domain, whose code is the protocol's; an error of any
 * other domain is reported as CNI_ERROR_INTERNAL.  Codes below 100 are those of the specification
 * (SPEC.md of containernetworking/cni, "Error"), those from 100 are listed in rdmad-cni(7).
 */
#pragma once

#include <glib.h>

#define CNI_ERROR cni_error_quark()
GQuark cni_error_quark(void);

typedef enum {
	CNI_ERROR_VERSION = 1,
	CNI_ERROR_UNKNOWN_CONTAINER = 3,
	CNI_ERROR_ENVIRONMENT = 4,
	CNI_ERROR_IO = 5,
	CNI_ERROR_DECODE = 6,
	CNI_ERROR_CONFIG = 7,
	CNI_ERROR_NETNS = 8, /* of the reference library: no namespace, or the host's */
	CNI_ERROR_TRY_AGAIN = 11,
	CNI_ERROR_NOT_AVAILABLE = 50,

	CNI_ERROR_DEVICE = 100,	    /* no such device, or it cannot be used this way */
	CNI_ERROR_HELD = 101,	    /* another pod has it */
	CNI_ERROR_EXISTS = 102,	    /* the pod has an interface of that name */
	CNI_ERROR_IPAM = 103,	    /* the IPAM plugin failed, or its answer is none */
	CNI_ERROR_ADDRESS = 104,    /* no address, or one that cannot be used */
	CNI_ERROR_RDMA = 105,	    /* no GID, or RDMA_CM does not find the device */
	CNI_ERROR_ALLOCATION = 106, /* the pod was not allocated what it asks for */
	CNI_ERROR_CHECK = 107,	    /* CHECK found a difference */

	CNI_ERROR_INTERNAL = 999,
} CniError;

/* Sets an error of the domain.  Always FALSE. */
gboolean cni_refuse(GError **error, CniError code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* The protocol's code of an error. */
int cni_error_code(const GError *error);
