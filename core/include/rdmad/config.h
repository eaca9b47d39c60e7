/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration
 *
 * A module describes its group as a table of typed fields, each with the bounds beside the key, and
 * parses the group into its own struct.  Unknown keys, wrong types and values out of bounds are
 * RDMAD_ERROR_CONFIG with file:line; a misspelt key names the nearest one.  Nothing that was parsed
 * points into the parser.
 */
#pragma once

#include <rdmad/types.h>

typedef enum {
	RDMAD_CONFIG_BOOL,     /* gboolean */
	RDMAD_CONFIG_INT,      /* gint64; min..max */
	RDMAD_CONFIG_STRING,   /* char *, g_free(); min..max bytes */
	RDMAD_CONFIG_STRINGS,  /* char **, g_strfreev(); a string, or a list or array of them */
	RDMAD_CONFIG_DURATION, /* guint64 milliseconds; integer seconds, or "250ms", "5s", "2m",
			        * "1h" */
	RDMAD_CONFIG_SIZE,     /* guint64 bytes; integer, or "64K", "8M", "2G" */
	RDMAD_CONFIG_ENUM,     /* int; index into `choices` */
	RDMAD_CONFIG_GROUP,  /* RdmadConfigNode *: borrowed, for a table of its own; may be NULL */
	RDMAD_CONFIG_LIST,   /* RdmadConfigNode *: borrowed list of groups; may be NULL */
	RDMAD_CONFIG_GROUPS, /* the same, where a single group stands for a list of one */
} RdmadConfigType;

typedef struct {
	const char *key;
	RdmadConfigType type;
	gsize offset;
	/* In the member's unit; STRING: bytes; STRINGS, LIST, GROUPS: entries.  Both 0: any, but no
	 * string is longer than 4096 bytes then. */
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
 * Fills `out`, whose members hold the defaults (strings allocated, they are freed when replaced).
 * `node` NULL: nothing is written, but required fields are missed.  On an error `out` holds a
 * mixture that the caller's free function must be able to take.  Every wrong key is an error, a line
 * each: a function of this header may be given an error of another, and adds its lines.
 */
RDMAD_API gboolean rdmad_config_parse(const RdmadConfigNode *node, const RdmadConfigField *fields,
				      gpointer out, GError **error);

/*
 * Patterns of names, as in a shell: `*` and `?`; with "!" in front one excludes.  A name matches when
 * no pattern excludes it, and one matches it or all of them exclude.  `name` NULL: one that no pattern
 * matches.
 */
RDMAD_API gboolean rdmad_config_patterns_match(char *const *patterns, const char *name);
/* The `check` of a field of patterns: an empty one matches no name. */
RDMAD_API gboolean rdmad_config_pattern_check(const char *pattern, GError **error);

/* The entries of a list of groups; 0 and NULL for a NULL list.  A group is a list of itself. */
RDMAD_API guint rdmad_config_length(const RdmadConfigNode *list);
RDMAD_API const RdmadConfigNode *rdmad_config_entry(const RdmadConfigNode *list, guint index);

/* Sets RDMAD_ERROR_CONFIG "file:line: path: message"; `key` NULL: the group itself.  Always
 * FALSE. */
RDMAD_API gboolean rdmad_config_error(const RdmadConfigNode *node, const char *key, GError **error,
				      const char *format, ...) G_GNUC_PRINTF(4, 5);
