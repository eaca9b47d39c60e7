/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import: the configuration of another device plugin as one of rdmad
 *
 *	text -> source.c (JSON or YAML; a ConfigMap is opened)
 *	     -> shared.c, sriov.c, legacy.c, erdma.c, cello.c: one a plugin, all by field.c
 *	     -> resources (resource.c) and notes -> write.c
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_IMPORT_MAX (1024u * 1024u) /* of a file; a ConfigMap has no more either */

typedef struct {
	const char *file; /* its name, for messages */
	const char *key;  /* of a ConfigMap's data; NULL: the only one */
	const char
		*prefix; /* what the SR-IOV plugin was given as -resource-prefix; NULL: nothing */
} RdmadImportOptions;

/*
 * The text of rdmad.conf.  `notes` gets lines on what is not, or not quite, as it was, also when the
 * text is refused; they are in the text as comments.
 * RDMAD_ERROR_INVALID, with the place: "file:line:column" or "file: configList[1].rdmaHcaMax".
 */
char *rdmad_import_convert(const char *text, gsize size, const RdmadImportOptions *options,
			   GPtrArray *notes, GError **error);
