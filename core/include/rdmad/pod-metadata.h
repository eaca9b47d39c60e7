/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod metadata: what the API server holds of a pod, where the runtime does not pass it
 *
 * A module that can ask the API server provides it (module kube); others query it.
 */
#pragma once

#include <rdmad/types.h>

/* `annotations`: name -> value, borrowed; NULL on an error.  RDMAD_ERROR_NOT_FOUND: there is no such pod, or
 * another of its name; RDMAD_ERROR_UNAVAILABLE, RDMAD_ERROR_TIMEOUT: the API server does not answer;
 * RDMAD_ERROR_INVALID, RDMAD_ERROR_LIMIT: the answer is none; RDMAD_ERROR_FAILED: it refuses;
 * RDMAD_ERROR_CANCELLED: the provider ends. */
typedef void (*RdmadPodMetadataFunc)(GHashTable *annotations, const GError *error, gpointer data);

/* `pod_uid` NULL: any pod of the name.  `fn` is called once, from the top of the loop.
 * RDMAD_ERROR_UNAVAILABLE: there is no provider. */
RDMAD_API RdmadPodQuery *rdmad_pod_metadata_query(RdmadPodMetadata *metadata, RdmadModule *owner,
						  const char *pod_namespace, const char *pod_name,
						  const char *pod_uid, RdmadPodMetadataFunc fn,
						  gpointer data,
						  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* `fn` will not be called.  NULL is fine. */
RDMAD_API void rdmad_pod_query_cancel(RdmadPodQuery *query);

/* Called for each query; the provider calls rdmad_pod_query_answer() once, then or later, before its end at
 * the latest. */
typedef void (*RdmadPodProvideFunc)(RdmadPodQuery *query, gpointer data);

/* RDMAD_ERROR_BUSY: there is one. */
RDMAD_API RdmadPodProvider *rdmad_pod_metadata_provide(RdmadPodMetadata *metadata,
						       RdmadModule *owner, RdmadPodProvideFunc fn,
						       gpointer data, GError **error);
/* After it has answered all queries.  NULL is fine. */
RDMAD_API void rdmad_pod_provider_free(RdmadPodProvider *provider);

RDMAD_API const char *rdmad_pod_query_namespace(const RdmadPodQuery *query);
RDMAD_API const char *rdmad_pod_query_name(const RdmadPodQuery *query);
RDMAD_API const char *rdmad_pod_query_uid(const RdmadPodQuery *query); /* or NULL */
/* Copies `error`, takes a reference of `annotations`; `query` is no longer the provider's. */
RDMAD_API void rdmad_pod_query_answer(RdmadPodQuery *query, GHashTable *annotations,
				      const GError *error);
