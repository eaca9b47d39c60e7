/* SPDX-License-Identifier: Apache-2.0 */
#include "observer.h"

#include <rdmad/grpc.h>
#include <stdio.h>
#include <string.h>

#include "kubelet.h"
#include "life.h"
#include "node.h"
#include "podresources.pb-c.h"

static struct {
	const char *resource;
	GPtrArray *calls; /* of char * */
	RdmadGrpcChannel *channel;
	guint pending;
	int allocatable;
	GHashTable *listed; /* name of a pod -> number of devices + 1 */
} observer;

/* ---- calls ---- */

static void line_seen(const char *line)
{
	g_autofree char *before = g_strconcat(observer.resource, ": kubelet calls ", NULL);
	char method[64];
	guint n = 0;

	if (!g_str_has_prefix(line, before) ||
	    sscanf(line + strlen(before), "%63s for %u", method, &n) < 1)
		return;
	g_ptr_array_add(observer.calls, n ? g_strdup_printf("%s:%u", method, n) : g_strdup(method));
}

const GPtrArray *observer_calls(void)
{
	return observer.calls;
}

void observer_forget_calls(void)
{
	g_ptr_array_set_size(observer.calls, 0);
}

/* ---- podresources ---- */

static int devices_count(V1__ContainerDevices *const *devices, gsize n)
{
	int count = 0;

	for (gsize i = 0; i < n; i++)
		if (g_str_equal(devices[i]->resource_name, observer.resource))
			count += (int)devices[i]->n_device_ids;
	return count;
}

static void allocatable_came(const guint8 *bytes, gsize size, gpointer data)
{
	V1__AllocatableResourcesResponse *answer =
		v1__allocatable_resources_response__unpack(NULL, size, bytes);

	g_assert_nonnull(answer);
	observer.allocatable = devices_count(answer->devices, answer->n_devices);
	v1__allocatable_resources_response__free_unpacked(answer, NULL);
}

static void list_came(const guint8 *bytes, gsize size, gpointer data)
{
	V1__ListPodResourcesResponse *answer =
		v1__list_pod_resources_response__unpack(NULL, size, bytes);

	g_assert_nonnull(answer);
	for (gsize i = 0; i < answer->n_pod_resources; i++) {
		const V1__PodResources *pod = answer->pod_resources[i];
		int count = 0;

		for (gsize k = 0; k < pod->n_containers; k++)
			count += devices_count(pod->containers[k]->devices,
					       pod->containers[k]->n_devices);
		g_hash_table_replace(observer.listed, g_strdup(pod->name),
				     GINT_TO_POINTER(count + 1));
	}
	v1__list_pod_resources_response__free_unpacked(answer, NULL);
}

static void answered(RdmadGrpcStatus status, const char *text, gpointer data)
{
	observer.pending--;
}

void observer_ask(void)
{
	static const RdmadGrpcRequestOps list_ops = { list_came, answered };
	static const RdmadGrpcRequestOps allocatable_ops = { allocatable_came, answered };
	g_autofree char *path = g_build_filename(node_options()->kubelet_dir, "pod-resources",
						 "kubelet.sock", NULL);

	observer.allocatable = -1;
	g_hash_table_remove_all(observer.listed);
	if (!kubelet_is_up())
		return;
	observer.pending = 2;
	if (!observer.channel)
		observer.channel = rdmad_grpc_channel_new(kubelet_loop(), NULL, path, 0);
	rdmad_grpc_channel_call(observer.channel, "/v1.PodResourcesLister/List", NULL, 0, 0,
				&list_ops, NULL);
	rdmad_grpc_channel_call(observer.channel, "/v1.PodResourcesLister/GetAllocatableResources",
				NULL, 0, 0, &allocatable_ops, NULL);
}

void observer_close(void)
{
	g_clear_pointer(&observer.channel, rdmad_grpc_channel_free);
}

gboolean observer_has_answers(void)
{
	return observer.pending == 0;
}

int observer_allocatable(void)
{
	return observer.allocatable;
}

int observer_listed(const char *pod)
{
	return GPOINTER_TO_INT(g_hash_table_lookup(observer.listed, pod)) - 1;
}

/* ---- life cycle ---- */

void observer_begin(const char *resource)
{
	observer.resource = resource;
	observer.calls = g_ptr_array_new_with_free_func(g_free);
	observer.listed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	life_watch_log(line_seen);
}

void observer_end(void)
{
	life_watch_log(NULL);
	g_hash_table_unref(observer.listed);
	g_ptr_array_unref(observer.calls);
}
