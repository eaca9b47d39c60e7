/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import: converts the configuration of another device plugin to rdmad.conf
 *
 *	text -> source.c (JSON or YAML; a ConfigMap is unpacked)
 *	     -> shared.c, sriov.c, legacy.c, erdma.c, cello.c: one for each plugin, all use field.c
 *	     -> resources (resource.c) and notes -> write.c
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_IMPORT_MAX                                                                           \
	(1024u * 1024u) /* bytes of a file, which is also the limit of a ConfigMap */

typedef struct {
	const char *file;   /* its name, for messages */
	const char *key;    /* in a ConfigMap's data; NULL: the only key */
	const char *prefix; /* -resource-prefix of the SR-IOV plugin, or NULL */
} RdmadImportOptions;

/*
 * Returns the text of rdmad.conf.  `notes` gets a line for each setting that is lost or changed,
 * also after an error; the text has the notes as comments.  RDMAD_ERROR_INVALID names the place:
 * "file:line:column" or "file: configList[1].rdmaHcaMax".
 */
char *rdmad_import_convert(const char *text, gsize size, const RdmadImportOptions *options,
			   GPtrArray *notes, GError **error);
