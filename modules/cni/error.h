/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of the CNI protocol
 *
 * An error for the runtime is a GError of this domain, whose code is the protocol's; an error of
 * any other domain is reported as CNI_ERROR_INTERNAL.  Codes below 100 are defined by the
 * specification (SPEC.md of containernetworking/cni, "Error"), codes from 100 by rdmad-cni(7).
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
	CNI_ERROR_NETNS = 8, /* from the reference library: no namespace, or the host's */
	CNI_ERROR_TRY_AGAIN = 11,
	CNI_ERROR_NOT_AVAILABLE = 50,
	CNI_ERROR_LIMITED = 51, /* 50, and containers may have lost their network */

	CNI_ERROR_DEVICE = 100,	    /* no such device, or it cannot be used this way */
	CNI_ERROR_HELD = 101,	    /* another pod uses it */
	CNI_ERROR_EXISTS = 102,	    /* the pod already has an interface of that name */
	CNI_ERROR_IPAM = 103,	    /* the IPAM plugin failed, or its answer is invalid */
	CNI_ERROR_ADDRESS = 104,    /* no address, or an unusable one */
	CNI_ERROR_RDMA = 105,	    /* no GID, or RDMA_CM does not resolve the device */
	CNI_ERROR_ALLOCATION = 106, /* the pod requests a device it was not allocated */
	CNI_ERROR_CHECK = 107,	    /* CHECK found a difference */

	CNI_ERROR_INTERNAL = 999,
} CniError;

/* Sets an error of the domain.  Returns FALSE. */
gboolean cni_refuse(GError **error, CniError code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Returns the protocol's code for an error. */
int cni_error_code(const GError *error);
