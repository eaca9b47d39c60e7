/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI specification: the device files behind a name that a container runtime resolves
 *
 *	rdmad.dev/rdma=0000:3b:00.0		its uverbs file; rdma_cm comes with each name
 *	rdmad.dev/rdma=0000:3b:00.0.umad	also .issm, .ucm: these files of it, for any user
 *
 * Unlike paths, names stay valid: a response that kubelet has stored is correct again after a
 * driver was reloaded and its files have other numbers.
 *
 * Cdi is rdmad's file in the directory of CDI specifications.  Each round collects the devices,
 * then publishes them: the file is replaced if it differs, and removed if there are none.  Files of
 * other programs are not touched.
 *
 * Source: cncf-tags/container-device-interface SPEC.md.  Names that begin with a digit need 0.5.0.
 */
#pragma once

#include <rdmad/device.h>

#include "settings.h"

#define CDI_KIND "rdmad.dev/rdma"

/* The kinds that have names, terminated by RDMAD_CHARDEV_RDMA_CM, which has none. */
extern const RdmadChardevKind cdi_kinds[];

typedef struct {
	const RdmadDevice *dev;
	RdmadChardevKind kind;
} CdiEntry;

/* `entries` is an array of CdiEntry with files of that kind, sorted.  Returns NULL if it is
 * empty. */
char *cdi_spec_text(const GArray *entries);

/* Returns the set of names in a text of rdmad.  RDMAD_ERROR_INVALID: not a specification;
 * RDMAD_ERROR_BUSY: a specification of another kind. */
GHashTable *cdi_spec_names(const char *text, gsize size, GError **error);

#define CDI_DIR	 "/var/run/cdi"
#define CDI_FILE "rdmad-rdma.json"

typedef struct Cdi Cdi;

/* `dir` NULL or empty: no file and no names. */
Cdi *cdi_new(const char *dir);
void cdi_free(Cdi *cdi);
/* The next round publishes in `dir`; removes the file in the old directory. */
void cdi_move(Cdi *cdi, const char *dir);
/* Reads the names that an earlier process published. */
void cdi_load(Cdi *cdi);

/* Adds the device's files of that kind, if it has any, to the round. */
void cdi_want(Cdi *cdi, const RdmadDevice *dev, RdmadChardevKind kind);
/* RDMAD_ERROR_BUSY: the file belongs to another program; RDMAD_ERROR_FAILED. */
gboolean cdi_publish(Cdi *cdi, GError **error);

/* Returns whether there is any name, published or collected. */
gboolean cdi_is_used(const Cdi *cdi);
/* Returns whether the name is in the file that was published last, or loaded. */
gboolean cdi_has(const Cdi *cdi, const char *device_id, RdmadChardevKind kind);
/* Returns the qualified names of all files of `devices` that the resource includes, sorted; NULL if
 * a runtime could not resolve one of them. */
GPtrArray *cdi_names(const Cdi *cdi, const GPtrArray *devices, const ResourceSettings *settings);
