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

#include "settings.h"

#define RDMAD_CDI_KIND "rdmad.dev/rdma"

/* The kinds that have names, ended by RDMAD_CHARDEV_RDMA_CM, which has none. */
extern const RdmadChardevKind rdmad_cdi_kinds[];

typedef struct {
	const RdmadDevice *dev;
	RdmadChardevKind kind;
} RdmadCdiEntry;

/* `entries` of RdmadCdiEntry with nodes of that kind, in order.  NULL when there are none. */
char *rdmad_cdi_spec_text(const GArray *entries);

/* The names in a text of ours, a set.  RDMAD_ERROR_INVALID: it is no specification;
 * RDMAD_ERROR_BUSY: it is one of another kind. */
GHashTable *rdmad_cdi_spec_names(const char *text, gsize size, GError **error);

#define RDMAD_CDI_DIR  "/var/run/cdi"
#define RDMAD_CDI_FILE "rdmad-rdma.json"

typedef struct RdmadCdi RdmadCdi;

/* `dir` NULL or empty: no file, no names. */
RdmadCdi *rdmad_cdi_new(const char *dir);
void rdmad_cdi_free(RdmadCdi *cdi);
/* The next round publishes there; the file in the old directory goes. */
void rdmad_cdi_move(RdmadCdi *cdi, const char *dir);
/* Learns the names that an earlier run published. */
void rdmad_cdi_load(RdmadCdi *cdi);

/* The nodes of that kind, where the device has some. */
void rdmad_cdi_want(RdmadCdi *cdi, const RdmadDevice *dev, RdmadChardevKind kind);
/* RDMAD_ERROR_BUSY: a file of that name is another's; RDMAD_ERROR_FAILED. */
gboolean rdmad_cdi_publish(RdmadCdi *cdi, GError **error);

/* Whether there is any name, published before or wanted now. */
gboolean rdmad_cdi_is_used(const RdmadCdi *cdi);
/* Whether the name was in the file that was published last, or loaded. */
gboolean rdmad_cdi_has(const RdmadCdi *cdi, const char *device_id, RdmadChardevKind kind);
/* Qualified names for all nodes that the resource hands out of `devices`, in order; NULL when a
 * runtime could not find one of them. */
GPtrArray *rdmad_cdi_names(const RdmadCdi *cdi, const GPtrArray *devices,
			   const RdmadResourceSettings *settings);
