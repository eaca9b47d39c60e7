/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI specification: the device files behind a name that a runtime is given
 *
 *	rdmad.dev/rdma=0000:3b:00.0		its uverbs file; rdma_cm comes with each name
 *	rdmad.dev/rdma=0000:3b:00.0.umad	also .issm, .ucm: these files of it, for any user
 *
 * Names last where paths do not: a reply that kubelet has kept is right again after a driver was
 * reloaded and its files have other numbers.
 *
 * Source: cncf-tags/container-device-interface SPEC.md.  Names that begin with a digit need 0.5.0.
 */
#pragma once

#include <rdmad/device.h>

#include "settings.h"

#define CDI_KIND "rdmad.dev/rdma"

/* The kinds that have names, ended by RDMAD_CHARDEV_RDMA_CM, which has none. */
extern const RdmadChardevKind cdi_kinds[];

typedef struct {
	const RdmadDevice *dev;
	RdmadChardevKind kind;
} CdiEntry;

/* `entries` of CdiEntry with nodes of that kind, in order.  NULL when there are none. */
char *cdi_spec_text(const GArray *entries);

/* The names in a text of ours, a set.  RDMAD_ERROR_INVALID: it is not a specification;
 * RDMAD_ERROR_BUSY: it is one of another kind. */
GHashTable *cdi_spec_names(const char *text, gsize size, GError **error);

#define CDI_DIR	 "/var/run/cdi"
#define CDI_FILE "rdmad-rdma.json"

typedef struct Cdi Cdi;

/* `dir` NULL or empty: no file, no names. */
Cdi *cdi_new(const char *dir);
void cdi_free(Cdi *cdi);
/* The next round publishes there; the file in the old directory goes. */
void cdi_move(Cdi *cdi, const char *dir);
/* Learns the names that an earlier run published. */
void cdi_load(Cdi *cdi);

/* The nodes of that kind, where the device has some. */
void cdi_want(Cdi *cdi, const RdmadDevice *dev, RdmadChardevKind kind);
/* RDMAD_ERROR_BUSY: a file of that name is another's; RDMAD_ERROR_FAILED. */
gboolean cdi_publish(Cdi *cdi, GError **error);

/* Whether there is any name, published before or wanted now. */
gboolean cdi_is_used(const Cdi *cdi);
/* Whether the name was in the file that was published last, or loaded. */
gboolean cdi_has(const Cdi *cdi, const char *device_id, RdmadChardevKind kind);
/* Qualified names for all files that the resource gives of `devices`, in order; NULL when a
 * runtime could not find one of them. */
GPtrArray *cdi_names(const Cdi *cdi, const GPtrArray *devices, const ResourceSettings *settings);
