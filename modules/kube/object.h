/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the API server: the fields that are read of them, and the text of its errors.  Pure. */
#pragma once

#include <jansson.h>
#include <rdmad/types.h>

#define KUBE_OBJECT_MAX (4u << 20) /* bytes; etcd takes 1.5 MiB */

typedef enum {
	KUBE_EVENT_CHANGED, /* ADDED, MODIFIED */
	KUBE_EVENT_DELETED,
	KUBE_EVENT_BOOKMARK,
	KUBE_EVENT_EXPIRED, /* 410: the version asked for is no longer known, list again */
	KUBE_EVENT_ERROR,   /* another ERROR, or a line that is none */
} KubeEventType;

/* A line of a watch.  Takes nothing over; `object` is a new reference, NULL but for CHANGED and DELETED.
 * `version` (may be NULL afterwards): its resourceVersion, g_free().  `error` is set for the last two. */
KubeEventType kube_watch_line_parse(const char *line, gsize length, json_t **object, char **version,
				    GError **error);

/* The object that a body is.  RDMAD_ERROR_INVALID. */
json_t *kube_object_parse(const char *body, gsize size, GError **error);
/* metadata.resourceVersion and the like, borrowed; NULL: none. */
const char *kube_object_text(const json_t *object, const char *key);
/* Whether the resourceVersion `version` is newer than `than`.  FALSE where that cannot be known: one is NULL, or
 * no decimal number (KEP-5504). */
gboolean kube_version_is_newer(const char *version, const char *than);
/* metadata.labels or .annotations: name -> value.  Values that are not strings are left out. */
GHashTable *kube_object_map(const json_t *object, const char *key);

/* Sets what a response with another status than 2xx says: RDMAD_ERROR_NOT_FOUND for 404, RDMAD_ERROR_GONE
 * for 410, RDMAD_ERROR_UNAVAILABLE for 408, 429 and 5xx, RDMAD_ERROR_FAILED for others.  Always FALSE. */
gboolean kube_status_error(guint status, const char *body, gsize size, GError **error);
