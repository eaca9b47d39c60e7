/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a JSON object by a table, as the plugins' own parser takes them: case does not matter,
 * null is absent, and a key that is not known is not an error. */
#pragma once

#include "cli/import/parts.h"

typedef enum {
	RDMAD_IMPORT_TEXT,     /* const char *, borrowed */
	RDMAD_IMPORT_NUMBER,   /* gint64, not negative */
	RDMAD_IMPORT_FLAG,     /* gboolean */
	RDMAD_IMPORT_OBJECT,   /* json_t *, borrowed */
	RDMAD_IMPORT_LIST,     /* json_t *, borrowed */
	RDMAD_IMPORT_OBJECTS,  /* json_t *, borrowed: one object, or a list */
	RDMAD_IMPORT_SELECTOR, /* a list of texts, to the GArray * at `offset` */
	RDMAD_IMPORT_LOST,     /* of any type; dropped with a note */
} RdmadImportType;

typedef struct {
	const char *key;
	RdmadImportType type;
	gsize offset;
	const char *lost; /* LOST: the reason */
	const char *ours; /* SELECTOR: its name in rdmad's configuration */
	/* SELECTOR: returns the text in rdmad's syntax, or NULL with an error. */
	char *(*convert)(const char *text, GError **error);
} RdmadImportField;

#define RDMAD_IMPORT_FIELD(key_, type_, Struct_, member_)                                          \
	{                                                                                          \
		.key = (key_), .type = (type_), .offset = G_STRUCT_OFFSET(Struct_, member_)        \
	}

/* `object` is of any type; `fields` ends with a NULL key; the values of absent keys are kept. */
gboolean rdmad_import_read(RdmadImport *import, const char *path, const json_t *object,
			   const RdmadImportField *fields, gpointer out, GError **error);
/* Returns the value of a key, or NULL if it is absent or null.  Ignores case. */
json_t *rdmad_import_get(const json_t *object, const char *key);

/* For RdmadImportField.convert. */
char *rdmad_import_convert_pattern(const char *text, GError **error);
char *rdmad_import_convert_pci_id(const char *text, GError **error);
char *rdmad_import_convert_pkey(const char *text, GError **error);
char *rdmad_import_convert_number(const char *text, GError **error);
char *rdmad_import_convert_pci_address(const char *text, GError **error);
char *rdmad_import_convert_link_type(const char *text, GError **error);
char *rdmad_import_convert_netdev_range(const char *text, GError **error); /* "ens1f0#0-3,7" */
char *rdmad_import_convert_pci_range(const char *text, GError **error); /* "0000:3b:00.0#0-3,7" */
