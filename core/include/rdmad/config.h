/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration
 *
 * A module describes its group as a table of typed fields with bounds, and parses the group into
 * its own struct.  Unknown keys, wrong types and values out of bounds are RDMAD_ERROR_CONFIG with
 * file:line; the message about an unknown key suggests the nearest one.  Parsed values are copies,
 * except RdmadConfigNode.
 */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_CONFIG_BOOL,     /* gboolean */
	RDMAD_CONFIG_INT,      /* gint64; min..max */
	RDMAD_CONFIG_STRING,   /* char *, g_free(); min..max bytes */
	RDMAD_CONFIG_STRINGS,  /* char **, g_strfreev(); a string, or a list or array of
			        * strings; in YAML a list */
	RDMAD_CONFIG_DURATION, /* guint64 milliseconds; integer seconds, or "250ms", "5s", "2m",
			        * "1h" */
	RDMAD_CONFIG_SIZE,     /* guint64 bytes; integer, or "64K", "8M", "2G" */
	RDMAD_CONFIG_ENUM,     /* int; index into `choices` */
	RDMAD_CONFIG_GROUP,    /* RdmadConfigNode *: borrowed, has a table of its own, or NULL */
	RDMAD_CONFIG_LIST,   /* RdmadConfigNode *: borrowed list of groups; may be NULL */
	RDMAD_CONFIG_GROUPS, /* as LIST, and a single group is a list of one */
} RdmadConfigType;

typedef struct {
	const char *key;
	RdmadConfigType type;
	gsize offset;
	/* Bounds in the member's unit; STRING: bytes; STRINGS, LIST, GROUPS: entries.  Both 0:
	 * none, except that a string has at most 4096 bytes, and STRINGS 4096 entries. */
	gint64 min, max;
	const char *const *choices; /* ENUM: NULL-terminated */
	gboolean required;
	gboolean (*check)(const char *value, GError **error); /* STRING and each of STRINGS */
} RdmadConfigField;

#define RDMAD_CONFIG_BOOL_FIELD(k, type_, member)                                                  \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_BOOL, .offset = G_STRUCT_OFFSET(type_, member)    \
	}
#define RDMAD_CONFIG_INT_FIELD(k, type_, member, min_, max_)                                       \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_INT, .offset = G_STRUCT_OFFSET(type_, member),    \
		.min = (min_), .max = (max_)                                                       \
	}
#define RDMAD_CONFIG_STRING_FIELD(k, type_, member)                                                \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_STRING, .offset = G_STRUCT_OFFSET(type_, member)  \
	}
#define RDMAD_CONFIG_STRINGS_FIELD(k, type_, member)                                               \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_STRINGS, .offset = G_STRUCT_OFFSET(type_, member) \
	}
#define RDMAD_CONFIG_DURATION_FIELD(k, type_, member, min_, max_)                                  \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_DURATION,                                         \
		.offset = G_STRUCT_OFFSET(type_, member), .min = (min_), .max = (max_)             \
	}
#define RDMAD_CONFIG_SIZE_FIELD(k, type_, member, min_, max_)                                      \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_SIZE, .offset = G_STRUCT_OFFSET(type_, member),   \
		.min = (min_), .max = (max_)                                                       \
	}
#define RDMAD_CONFIG_ENUM_FIELD(k, type_, member, choices_)                                        \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_ENUM, .offset = G_STRUCT_OFFSET(type_, member),   \
		.choices = (choices_)                                                              \
	}
#define RDMAD_CONFIG_GROUP_FIELD(k, type_, member)                                                 \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_GROUP, .offset = G_STRUCT_OFFSET(type_, member)   \
	}
#define RDMAD_CONFIG_LIST_FIELD(k, type_, member)                                                  \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_LIST, .offset = G_STRUCT_OFFSET(type_, member)    \
	}
#define RDMAD_CONFIG_GROUPS_FIELD(k, type_, member)                                                \
	{                                                                                          \
		.key = (k), .type = RDMAD_CONFIG_GROUPS, .offset = G_STRUCT_OFFSET(type_, member)  \
	}
#define RDMAD_CONFIG_FIELDS_END                                                                    \
	{                                                                                          \
		.key = NULL                                                                        \
	}

/*
 * Parses the group `node` into `out`, whose members have the defaults; allocated defaults are freed
 * when they are replaced.  `node` NULL: an empty group.  After an error, some members have new
 * values, and the caller frees `out` as usual.  The error has a line for each wrong key: `error` of
 * any function of this header may be passed on to the next, which appends its lines.
 */
RDMAD_API gboolean rdmad_config_parse(const RdmadConfigNode *node, const RdmadConfigField *fields,
				      gpointer out, GError **error);

/*
 * Returns whether a name matches a list of patterns, which may be NULL.  A pattern may contain `*`
 * and `?`, as in a shell; "!" before it makes it an exclusion.  A name matches if no exclusion
 * matches it, and if another pattern matches it or there are only exclusions.  `name` NULL: a name
 * that no pattern matches.
 */
RDMAD_API gboolean rdmad_config_patterns_match(char *const *patterns, const char *name);
/* The `check` of a field of patterns.  RDMAD_ERROR_CONFIG: the pattern is empty. */
RDMAD_API gboolean rdmad_config_pattern_check(const char *pattern, GError **error);

/* Return the number of groups in a list, and one of them; 0 and NULL if `list` is NULL.  A group is
 * a list of itself. */
RDMAD_API guint rdmad_config_length(const RdmadConfigNode *list);
RDMAD_API const RdmadConfigNode *rdmad_config_entry(const RdmadConfigNode *list, guint index);

/* Sets RDMAD_ERROR_CONFIG "file:line: path: message", and returns FALSE.  `key` NULL: the group
 * itself. */
RDMAD_API gboolean rdmad_config_error(const RdmadConfigNode *node, const char *key, GError **error,
				      const char *format, ...) G_GNUC_PRINTF(4, 5);
