/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the import */
#pragma once

#include <jansson.h>

#include "cli/import/import.h"

/* ---- source.c: finds plugins' configurations in the text ---- */

typedef struct {
	char *place; /* prefix of errors: "cm.yaml: rdma-devices/config.json" */
	char *label; /* prefix of paths in notes: "rdma-devices/config.json: ", or "" */
	json_t *config;
} RdmadImportSource;

/* Returns an array of at least one RdmadImportSource. */
GPtrArray *rdmad_import_sources_find(const char *text, gsize size,
				     const RdmadImportOptions *options, GError **error);

/* ---- resource.c: the imported resources ---- */

typedef struct {
	const char *key; /* a selector of rdmad; static */
	char **values;
	const char *why; /* a comment, or NULL; static */
} RdmadImportSelector;

typedef struct {
	char *name;		/* "rdma/hca" */
	char *place;		/* "configList[0]" */
	char *origin;		/* the place with the source's label, printable */
	gboolean exclusive;	/* FALSE: `count` slots share the devices */
	gint64 count;		/* slots of the pool, or of each device */
	const char *mode_from;	/* the attribute with the mode, or NULL; `count` slots per device */
	gboolean per_device;	/* `count` slots per device, each with uverbs and rdma_cm */
	gboolean all_devices;	/* with per_device: a slot gives all devices */
	gboolean numa;		/* the NUMA node is advertised */
	GPtrArray *groups;	/* of GArray of RdmadImportSelector */
	GPtrArray *shared_with; /* of const char *: names of resources added before or after */
} RdmadImportResource;

typedef struct {
	const RdmadImportOptions *options;
	const RdmadImportSource *source; /* being read */
	GPtrArray *resources;		 /* of RdmadImportResource */
	GPtrArray *notes;		 /* of char *; owned by the caller */
	guint n_values;			 /* values of all selectors */
	char *cni_network;  /* annotation_networks of the module cni; NULL: no module */
	char *erdma_driver; /* prefer_driver of the module erdma; NULL: no module */
} RdmadImport;

RdmadImportResource *rdmad_import_resource_new(const char *prefix, const char *base,
					       const char *place);
void rdmad_import_resource_free(RdmadImportResource *resource);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadImportResource, rdmad_import_resource_free)
/* Returns a group without selectors, which selects every device. */
GArray *rdmad_import_group_new(void);
void rdmad_import_group_add(GArray *group, const char *key, char **values);
/* Adds a selector that is not in the file. */
void rdmad_import_group_add_own(GArray *group, const char *key, const char *value, const char *why);
/* Returns NULL if the group has no such selector. */
const RdmadImportSelector *rdmad_import_group_find(const GArray *group, const char *key);
/* Takes the resource over.  Fails if its name is invalid or in use. */
gboolean rdmad_import_add(RdmadImport *import, RdmadImportResource *resource, GError **error);
/* Returns whether both have identical selectors. */
gboolean rdmad_import_groups_equal(const GPtrArray *a, const GPtrArray *b);
/* Returns whether both may select the same device. */
gboolean rdmad_import_resources_overlap(const RdmadImportResource *a, const RdmadImportResource *b);

/* Adds a note: a setting is lost, or needs attention.  Returns TRUE. */
gboolean rdmad_import_lose(RdmadImport *import, const char *path, const char *reason);
gboolean rdmad_import_mind(RdmadImport *import, const char *path, const char *reason);
/* Sets RDMAD_ERROR_INVALID "place: path: message".  Returns FALSE. */
gboolean rdmad_import_error(const RdmadImport *import, GError **error, const char *path,
			    const char *format, ...) G_GNUC_PRINTF(4, 5);

/* ---- one file for each plugin: adds all resources of the source ---- */

gboolean rdmad_import_shared(RdmadImport *import, GError **error);
gboolean rdmad_import_sriov(RdmadImport *import, GError **error);
gboolean rdmad_import_legacy(RdmadImport *import, GError **error);
gboolean rdmad_import_erdma(RdmadImport *import, GError **error);
gboolean rdmad_import_cello(RdmadImport *import, GError **error);
/* Returns whether `config` is a list of CNI plugins with a device plugin's resource. */
gboolean rdmad_import_is_cello(const json_t *config);
/* Returns whether `config` is the chart's values or the controller's config.json. */
gboolean rdmad_import_is_erdma(const json_t *config);

/* ---- write.c ---- */

char *rdmad_import_write(const RdmadImport *import);
