/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod-metadata-private.h"

#include <rdmad/error.h>
#include <rdmad/loop.h>

struct RdmadPodProvider {
	RdmadPodMetadata *metadata;
	RdmadModule *owner;
	RdmadPodProvideFunc fn;
	gpointer data;
};

struct RdmadPodMetadata {
	RdmadLoop *loop;
	RdmadPodProvider *provider; /* NULL: no provider */
	GPtrArray *queries;	    /* RdmadPodQuery, without cancelled ones */
};

/* Exists until the provider has answered, even if it was cancelled. */
struct RdmadPodQuery {
	RdmadPodMetadata *metadata;
	RdmadModule *owner;
	char *pod_namespace, *pod_name, *pod_uid;
	RdmadPodMetadataFunc fn; /* NULL: cancelled */
	gpointer data;
	gboolean answered;
	GHashTable *annotations;
	GError *error;
	RdmadEvent *notify; /* calls `fn` */
};

static void query_free(RdmadPodQuery *query)
{
	rdmad_event_free(query->notify);
	g_clear_pointer(&query->annotations, g_hash_table_unref);
	g_clear_error(&query->error);
	g_free(query->pod_namespace);
	g_free(query->pod_name);
	g_free(query->pod_uid);
	g_free(query);
}

static void query_notify(gpointer data)
{
	RdmadPodQuery *query = data;

	g_ptr_array_remove_fast(query->metadata->queries, query);
	query->fn(query->annotations, query->error, query->data);
	query_free(query);
}

RdmadPodQuery *rdmad_pod_metadata_query(RdmadPodMetadata *metadata, RdmadModule *owner,
					const char *pod_namespace, const char *pod_name,
					const char *pod_uid, RdmadPodMetadataFunc fn, gpointer data,
					GError **error)
{
	RdmadPodQuery *query;

	if (!metadata->provider) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE,
			    "no module asks the API server: the module kube is not loaded");
		return NULL;
	}
	query = g_new0(RdmadPodQuery, 1);
	query->metadata = metadata;
	query->owner = owner;
	query->pod_namespace = g_strdup(pod_namespace);
	query->pod_name = g_strdup(pod_name);
	query->pod_uid = g_strdup(pod_uid);
	query->fn = fn;
	query->data = data;
	/* The event belongs to the core: when a module ends, its whole query is cancelled, not only
	 * the event. */
	query->notify = rdmad_loop_add_timer(metadata->loop, NULL, query_notify, query);
	g_ptr_array_add(metadata->queries, query);
	metadata->provider->fn(query, metadata->provider->data);
	return query;
}

void rdmad_pod_query_cancel(RdmadPodQuery *query)
{
	if (!query)
		return;
	g_ptr_array_remove_fast(query->metadata->queries, query);
	query->fn = NULL;
	if (query->answered)
		query_free(query);
}

const char *rdmad_pod_query_namespace(const RdmadPodQuery *query)
{
	return query->pod_namespace;
}

const char *rdmad_pod_query_name(const RdmadPodQuery *query)
{
	return query->pod_name;
}

const char *rdmad_pod_query_uid(const RdmadPodQuery *query)
{
	return query->pod_uid;
}

void rdmad_pod_query_answer(RdmadPodQuery *query, GHashTable *annotations, const GError *error)
{
	g_assert(!query->answered);
	query->answered = TRUE;
	if (!query->fn) {
		query_free(query);
		return;
	}
	query->annotations = annotations ? g_hash_table_ref(annotations) : NULL;
	query->error = error ? g_error_copy(error) : NULL;
	rdmad_event_arm(query->notify, 0);
}

RdmadPodProvider *rdmad_pod_metadata_provide(RdmadPodMetadata *metadata, RdmadModule *owner,
					     RdmadPodProvideFunc fn, gpointer data, GError **error)
{
	if (metadata->provider) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
			    "another module provides the metadata of pods");
		return NULL;
	}
	metadata->provider = g_new0(RdmadPodProvider, 1);
	*metadata->provider = (RdmadPodProvider){ metadata, owner, fn, data };
	return metadata->provider;
}

void rdmad_pod_provider_free(RdmadPodProvider *provider)
{
	if (provider)
		g_clear_pointer(&provider->metadata->provider, g_free);
}

RdmadPodMetadata *rdmad_pod_metadata_new(RdmadLoop *loop)
{
	RdmadPodMetadata *metadata = g_new0(RdmadPodMetadata, 1);

	metadata->loop = loop;
	metadata->queries = g_ptr_array_new();
	return metadata;
}

void rdmad_pod_metadata_free(RdmadPodMetadata *metadata)
{
	if (!metadata)
		return;
	rdmad_pod_provider_free(metadata->provider);
	g_ptr_array_unref(metadata->queries);
	g_free(metadata);
}

guint rdmad_pod_metadata_reap(RdmadPodMetadata *metadata, const RdmadModule *owner)
{
	guint n = 0;

	for (guint i = metadata->queries->len; i-- > 0;) {
		RdmadPodQuery *query = metadata->queries->pdata[i];

		if (query->owner == owner) {
			rdmad_pod_query_cancel(query);
			n++;
		}
	}
	if (metadata->provider && metadata->provider->owner == owner) {
		rdmad_pod_provider_free(metadata->provider);
		n++;
	}
	return n;
}
