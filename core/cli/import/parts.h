/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of an import. */
#pragma once

#include <jansson.h>

#include "cli/import/import.h"

/* ---- source.c: where a plugin's configuration is in what was given ---- */

typedef struct {
	char *place; /* for errors: "cm.yaml: rdma-devices/config.json" */
	char *label; /* before paths in notes: "rdma-devices/config.json: ", or "" */
	json_t *config;
} RdmadImportSource;

/* Of RdmadImportSource, at least one. */
GPtrArray *rdmad_import_sources_find(const char *text, gsize size,
				     const RdmadImportOptions *options, GError **error);

/* ---- resource.c: what becomes of it ---- */

typedef struct {
	const char *key; /* of rdmad's selectors; static */
	char **values;
	const char *why; /* a comment, or NULL; static */
} RdmadImportSelector;

typedef struct {
	char *name;		/* "rdma/hca" */
	char *place;		/* "configList[0]" */
	char *origin;		/* the same with the source's label, printable */
	gboolean exclusive;	/* else shared by `count` slots */
	gint64 count;		/* for the pool, or for each device */
	const char *mode_from;	/* the attribute with the mode, or NULL; `count` slots a device */
	gboolean per_device;	/* each slot is one of a device, and gives uverbs and rdma_cm */
	gboolean all_devices;	/* with it: a slot gives all devices */
	gboolean numa;		/* the NUMA node is advertised */
	GPtrArray *groups;	/* of GArray of RdmadImportSelector */
	GPtrArray *shared_with; /* of const char *: names of resources added before or after */
} RdmadImportResource;

typedef struct {
	const RdmadImportOptions *options;
	const RdmadImportSource *source; /* that is read now */
	GPtrArray *resources;		 /* of RdmadImportResource */
	GPtrArray *notes;		 /* of char *; the caller's */
	guint n_values;			 /* of all selectors */
	char *cni_network;  /* of the module cni, as pods name it; NULL: no such module */
	char *erdma_driver; /* prefer_driver of the module erdma; NULL: no such module */
} RdmadImport;

RdmadImportResource *rdmad_import_resource_new(const char *prefix, const char *base,
					       const char *place);
void rdmad_import_resource_free(RdmadImportResource *resource);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadImportResource, rdmad_import_resource_free)
/* A group without selectors takes every device. */
GArray *rdmad_import_group_new(void);
void rdmad_import_group_add(GArray *group, const char *key, char **values);
/* One that the file has not. */
void rdmad_import_group_add_own(GArray *group, const char *key, const char *value, const char *why);
/* NULL when there is none. */
const RdmadImportSelector *rdmad_import_group_find(const GArray *group, const char *key);
/* Takes the resource; its name is good and new. */
gboolean rdmad_import_add(RdmadImport *import, RdmadImportResource *resource, GError **error);
/* Whether both have the same selectors in the same words. */
gboolean rdmad_import_groups_equal(const GPtrArray *a, const GPtrArray *b);
/* Whether one device may be in both. */
gboolean rdmad_import_resources_overlap(const RdmadImportResource *a, const RdmadImportResource *b);

/* Lines for people: something is lost, or is other than it was.  Always TRUE. */
gboolean rdmad_import_lose(RdmadImport *import, const char *path, const char *reason);
gboolean rdmad_import_mind(RdmadImport *import, const char *path, const char *reason);
/* "place: path: message", RDMAD_ERROR_INVALID.  Always FALSE. */
gboolean rdmad_import_error(const RdmadImport *import, GError **error, const char *path,
			    const char *format, ...) G_GNUC_PRINTF(4, 5);

/* ---- one file for each plugin: all resources of the source ---- */

gboolean rdmad_import_shared(RdmadImport *import, GError **error);
gboolean rdmad_import_sriov(RdmadImport *import, GError **error);
gboolean rdmad_import_legacy(RdmadImport *import, GError **error);
gboolean rdmad_import_erdma(RdmadImport *import, GError **error);
gboolean rdmad_import_cello(RdmadImport *import, GError **error);
/* Whether it is a list of CNI plugins with a device plugin's resource. */
gboolean rdmad_import_is_cello(const json_t *config);
/* Whether it is the values of the chart, or the controller's config.json. */
gboolean rdmad_import_is_erdma(const json_t *config);

/* ---- write.c ---- */

char *rdmad_import_write(const RdmadImport *import);
