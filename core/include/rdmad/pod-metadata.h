/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod metadata: annotations of a pod in the API server, for modules to which the runtime does not
 * pass them
 *
 * The module kube, a client of the API server, provides them; other modules query them.
 */
#pragma once

#include <rdmad/types.h>

/* `annotations`: name -> value, borrowed; NULL on an error.  RDMAD_ERROR_NOT_FOUND: no such pod,
 * or another pod of that name; RDMAD_ERROR_UNAVAILABLE, RDMAD_ERROR_TIMEOUT: no response of the
 * API server; RDMAD_ERROR_INVALID, RDMAD_ERROR_LIMIT: a malformed or too large response;
 * RDMAD_ERROR_FAILED: the API server rejects the request; RDMAD_ERROR_CANCELLED: the provider
 * ends. */
typedef void (*RdmadPodMetadataFunc)(GHashTable *annotations, const GError *error, gpointer data);

/* Queries the annotations of a pod; `pod_uid` NULL: of any pod of that name.  `fn` is called
 * once, from the top of the loop; the handle is valid until then.  RDMAD_ERROR_UNAVAILABLE: no
 * provider. */
RDMAD_API RdmadPodQuery *rdmad_pod_metadata_query(RdmadPodMetadata *metadata, RdmadModule *owner,
						  const char *pod_namespace, const char *pod_name,
						  const char *pod_uid, RdmadPodMetadataFunc fn,
						  gpointer data,
						  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Cancels the call of `fn`.  Does nothing if `query` is NULL. */
RDMAD_API void rdmad_pod_query_cancel(RdmadPodQuery *query);

/* Called for each query; the provider calls rdmad_pod_query_answer() once, immediately or later,
 * but before rdmad_pod_provider_free(). */
typedef void (*RdmadPodProvideFunc)(RdmadPodQuery *query, gpointer data);

/* Makes the module the provider.  RDMAD_ERROR_BUSY: there is another provider. */
RDMAD_API RdmadPodProvider *rdmad_pod_metadata_provide(RdmadPodMetadata *metadata,
						       RdmadModule *owner, RdmadPodProvideFunc fn,
						       gpointer data, GError **error);
/* Call it after the response to all queries.  Does nothing if `provider` is NULL. */
RDMAD_API void rdmad_pod_provider_free(RdmadPodProvider *provider);

RDMAD_API const char *rdmad_pod_query_namespace(const RdmadPodQuery *query);
RDMAD_API const char *rdmad_pod_query_name(const RdmadPodQuery *query);
RDMAD_API const char *rdmad_pod_query_uid(const RdmadPodQuery *query); /* or NULL */
/* Responds to a query, which the provider must not use afterwards.  Copies `error`, and takes a
 * reference to `annotations`. */
RDMAD_API void rdmad_pod_query_answer(RdmadPodQuery *query, GHashTable *annotations,
				      const GError *error);
