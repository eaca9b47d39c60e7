/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI: our one file in the folder where container runtimes look for specifications
 *
 * Each round says anew what is wanted, then publishes it: the file is replaced when it differs, and
 * removed when nothing is wanted.  Files of others are not touched.
 */
#pragma once

#include "cdi-spec.h"
#include "settings.h"

#define RDMAD_CDI_DIR  "/var/run/cdi"
#define RDMAD_CDI_FILE "rdmad-rdma.json"

typedef struct RdmadCdi RdmadCdi;

/* `dir` NULL or empty: no file, no names. */
RdmadCdi *rdmad_cdi_new(const char *dir);
void rdmad_cdi_free(RdmadCdi *cdi);
/* The next round publishes there; the file in the old folder goes. */
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
