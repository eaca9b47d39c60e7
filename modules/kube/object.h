/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the API server: the fields that rdmad reads, and the errors.  Pure. */
#pragma once

#include <jansson.h>
#include <rdmad/types.h>

#define KUBE_OBJECT_MAX (4u << 20) /* bytes; etcd accepts 1.5 MiB */

typedef enum {
	KUBE_EVENT_CHANGED, /* ADDED, MODIFIED */
	KUBE_EVENT_DELETED,
	KUBE_EVENT_BOOKMARK,
	KUBE_EVENT_EXPIRED, /* 410: the requested version is too old; list again */
	KUBE_EVENT_ERROR,   /* another ERROR, or an invalid line */
} KubeEventType;

/* Parses a line of a watch.  `object` is a new reference for CHANGED and DELETED, else NULL.
 * `version`: its resourceVersion, g_free(); NULL for EXPIRED and ERROR, which set `error`.
 * `status`: that of an ERROR event, else 200, that of the watch. */
KubeEventType kube_watch_line_parse(const char *line, gsize length, json_t **object, char **version,
				    guint *status, GError **error);

/* Parses a body as an object.  RDMAD_ERROR_INVALID. */
json_t *kube_object_parse(const char *body, gsize size, GError **error);
/* Returns a text of metadata, for example resourceVersion, borrowed; NULL: none. */
const char *kube_object_text(const json_t *object, const char *key);
/* Returns whether the resourceVersion `version` is newer than `than`.  FALSE if that is unknown:
 * one is NULL or not a decimal number (KEP-5504). */
gboolean kube_version_is_newer(const char *version, const char *than);
/* Returns metadata.labels or .annotations, name -> value: at most 4096, without values that are not
 * strings. */
GHashTable *kube_object_map(const json_t *object, const char *key);

/* Sets the error of a response with another status than 2xx: RDMAD_ERROR_NOT_FOUND for 404,
 * RDMAD_ERROR_GONE for 410 and for a namespace that is being deleted, RDMAD_ERROR_UNAVAILABLE for
 * 408, 429 and 5xx, RDMAD_ERROR_FAILED for others.  Returns FALSE. */
gboolean kube_status_error(guint status, const char *body, gsize size, GError **error);
/* Returns whether a response with such an error is about the requested object, and neither about
 * the server nor about permissions. */
gboolean kube_status_is_of_object(guint status, const GError *error);
