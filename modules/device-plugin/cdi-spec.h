/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI specification: which device nodes stand behind a name that a runtime is given
 *
 *	rdmad.dev/rdma=0000:3b:00.0		its uverbs node; rdma_cm comes with each name
 *	rdmad.dev/rdma=0000:3b:00.0.umad	also .issm, .ucm: these nodes of it, for any user
 *
 * Names last where paths do not: a reply that kubelet has kept is right again after a driver was
 * reloaded and its nodes have other numbers.
 *
 * Source: cncf-tags/container-device-interface SPEC.md.  Names that begin with a digit need 0.5.0.
 */
#pragma once

#include <rdmad/device.h>

#define RDMAD_CDI_KIND	   "rdmad.dev/rdma"
#define RDMAD_CDI_SPEC_MAX (16u << 20) /* what is read at most */

/* The kinds that have names, ended by RDMAD_CHARDEV_RDMA_CM, which has none. */
extern const RdmadChardevKind rdmad_cdi_kinds[];

/* "0000:3b:00.0.umad" */
char *rdmad_cdi_name(const char *device_id, RdmadChardevKind kind);

typedef struct {
	const RdmadDevice *dev;
	RdmadChardevKind kind;
} RdmadCdiEntry;

/* `entries` of RdmadCdiEntry with nodes of that kind, in order.  NULL when there are none. */
char *rdmad_cdi_spec_text(const GArray *entries);

/* The names in a text of ours, a set.  RDMAD_ERROR_INVALID: it is no specification;
 * RDMAD_ERROR_BUSY: it is one of another kind. */
GHashTable *rdmad_cdi_spec_names(const char *text, gsize size, GError **error);
