/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod-list.h"

#include <podresources.pb-c.h>
#include <rdmad/error.h>
#include <rdmad/pod-log-directory.h>
#include <rdmad/sysroot.h>
#include <stdlib.h>
#include <string.h>

#include "service/allocation-private.h"

#define NAME_MAX_BYTES 253u
#define UNPACKED_MAX                                                                               \
	(64u                                                                                       \
	 << 20) /* limit of the unpacked message, which may be much larger than the packed one */

static void pod_devices_free(gpointer data)
{
	RdmadPodDevices *held = data;

	g_free(held->pod_namespace);
	g_free(held->pod_name);
	g_free(held->container);
	g_free(held->resource);
	g_strfreev(held->ids);
	g_free(held);
}

GHashTable *rdmad_pods_set_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

char *rdmad_pod_name(const char *pod_namespace, const char *pod_name)
{
	return g_strdup_printf("%s/%s", pod_namespace, pod_name);
}

void rdmad_pods_set_add(GHashTable *pods, const char *pod_namespace, const char *pod_name)
{
	g_hash_table_add(pods, rdmad_pod_name(pod_namespace, pod_name));
}

gboolean rdmad_pods_set_has(GHashTable *pods, const char *pod_namespace, const char *pod_name)
{
	g_autofree char *name = rdmad_pod_name(pod_namespace, pod_name);

	return g_hash_table_contains(pods, name);
}

static RdmadPodList *list_new(void)
{
	RdmadPodList *list = g_new0(RdmadPodList, 1);

	list->entries = g_ptr_array_new_with_free_func(pod_devices_free);
	list->holders = g_hash_table_new_full(rdmad_slot_hash, rdmad_slot_equal, g_free, NULL);
	list->pods = rdmad_pods_set_new();
	list->unnamed = g_hash_table_new_full(rdmad_slot_hash, rdmad_slot_equal, g_free, NULL);
	return list;
}

void rdmad_pod_list_free(RdmadPodList *list)
{
	if (!list)
		return;
	g_hash_table_unref(list->holders);
	g_hash_table_unref(list->pods);
	g_hash_table_unref(list->unnamed);
	g_free(list->invalid);
	g_clear_pointer(&list->logs, g_hash_table_unref);
	g_free(list->kubelet);
	g_ptr_array_unref(list->entries);
	g_free(list);
}

const RdmadPodDevices *rdmad_pod_list_holder(const RdmadPodList *list, const char *resource,
					     const char *id)
{
	const RdmadSlot key = { resource, id };

	return g_hash_table_lookup(list->holders, &key);
}

gboolean rdmad_pod_list_is_unnamed(const RdmadPodList *list, const char *resource, const char *id)
{
	const RdmadSlot key = { resource, id };

	return g_hash_table_contains(list->unnamed, &key);
}

void rdmad_pod_list_read_logs(RdmadPodList *list, const RdmadSysroot *root)
{
	g_auto(GStrv) names = rdmad_sysroot_list(root, RDMAD_POD_LOGS, NULL);

	if (!names)
		return;
	list->logs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; names[i]; i++) {
		g_auto(RdmadPodLogDirectory) directory = { 0 };

		if (rdmad_pod_log_directory_parse(names[i], &directory) &&
		    rdmad_pods_set_has(list->pods, directory.pod_namespace, directory.pod_name))
			g_hash_table_add(list->logs, g_strdup(names[i]));
	}
}

static gboolean text_ok(const char *text)
{
	return text && *text && strnlen(text, NAME_MAX_BYTES + 1) <= NAME_MAX_BYTES &&
	       g_utf8_validate(text, -1, NULL);
}

static gint slot_compare(gconstpointer a, gconstpointer b)
{
	const RdmadSlot *x = a, *y = b;
	const int order = strcmp(x->resource, y->resource);

	return order ? order : strcmp(x->slot, y->slot);
}

/* Ignores IDs of other plugins that are invalid or too long. */
static GArray *container_slots(const V1__ContainerResources *container)
{
	GArray *slots = g_array_new(FALSE, FALSE, sizeof(RdmadSlot));

	for (gsize i = 0; i < container->n_devices; i++) {
		const V1__ContainerDevices *devices = container->devices[i];

		for (gsize k = 0; k < devices->n_device_ids; k++) {
			const RdmadSlot slot = { devices->resource_name, devices->device_ids[k] };

			if (text_ok(slot.resource) && text_ok(slot.slot))
				g_array_append_val(slots, slot);
		}
	}
	g_array_sort(slots, slot_compare);
	return slots;
}

/* The first listed container counts as the holder: a container takes over the slots of init
 * containers. */
static void holders_add(RdmadPodList *list, RdmadPodDevices *held)
{
	for (guint i = 0; held->ids[i]; i++) {
		RdmadSlot *key;

		if (rdmad_pod_list_holder(list, held->resource, held->ids[i]))
			continue;
		key = g_new(RdmadSlot, 1);
		*key = (RdmadSlot){ held->resource, held->ids[i] };
		g_hash_table_insert(list->holders, key, held);
	}
}

/* Adds `n` sorted slots of one resource. */
static void entry_add(RdmadPodList *list, const V1__PodResources *pod, const char *container,
		      const RdmadSlot *slots, guint n)
{
	RdmadPodDevices *held = g_new0(RdmadPodDevices, 1);
	guint n_ids = 0;

	held->pod_namespace = g_strdup(pod->namespace_);
	held->pod_name = g_strdup(pod->name);
	held->container = g_strdup(container);
	held->resource = g_strdup(slots[0].resource);
	held->ids = g_new0(char *, n + 1);
	for (guint i = 0; i < n; i++)
		if (i == 0 || strcmp(slots[i - 1].slot, slots[i].slot) != 0)
			held->ids[n_ids++] = g_strdup(slots[i].slot);
	g_ptr_array_add(list->entries, held);
	holders_add(list, held);
}

static gboolean container_is_named(const V1__PodResources *pod,
				   const V1__ContainerResources *container)
{
	return text_ok(pod->name) && text_ok(pod->namespace_) && text_ok(container->name);
}

/* Keeps the slots: their allocations are those of containers that kubelet lists. */
static void unnamed_add(RdmadPodList *list, const V1__PodResources *pod, const char *container,
			const GArray *slots)
{
	if (!list->invalid)
		list->invalid =
			g_strdup_printf("\"%.64s/%.64s\", container \"%.64s\"",
					pod->namespace_ ?: "", pod->name ?: "", container ?: "");
	for (guint i = 0; i < slots->len; i++)
		g_hash_table_add(list->unnamed,
				 rdmad_slot_dup(&g_array_index(slots, RdmadSlot, i)));
}

static gboolean container_add(RdmadPodList *list, const V1__PodResources *pod,
			      const V1__ContainerResources *container, guint *n_ids, GError **error)
{
	g_autoptr(GArray) slots = container_slots(container);
	const RdmadSlot *slot = (const RdmadSlot *)(gpointer)slots->data;

	*n_ids += slots->len;
	if (*n_ids > RDMAD_POD_LIST_MAX_IDS) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "podresources lists more than %u device ids", RDMAD_POD_LIST_MAX_IDS);
		return FALSE;
	}
	if (!container_is_named(pod, container)) {
		unnamed_add(list, pod, container->name, slots);
		return TRUE;
	}
	for (guint from = 0, to; from < slots->len; from = to) {
		for (to = from + 1; to < slots->len; to++)
			if (strcmp(slot[from].resource, slot[to].resource) != 0)
				break;
		entry_add(list, pod, container->name, slot + from, to - from);
	}
	return TRUE;
}

static gboolean pod_add(RdmadPodList *list, const V1__PodResources *pod, guint *n_ids,
			GError **error)
{
	if (text_ok(pod->name) && text_ok(pod->namespace_))
		rdmad_pods_set_add(list->pods, pod->namespace_, pod->name);
	for (gsize i = 0; i < pod->n_containers; i++)
		if (pod->containers[i]->n_devices &&
		    !container_add(list, pod, pod->containers[i], n_ids, error))
			return FALSE;
	return TRUE;
}

static void *budget_alloc(void *data, size_t size)
{
	gsize *left = data;

	if (size > *left)
		return NULL;
	*left -= size;
	return malloc(size ? size : 1);
}

static void budget_free(void *data, void *pointer)
{
	free(pointer);
}

static gboolean list_fill(RdmadPodList *list, const V1__ListPodResourcesResponse *response,
			  GError **error)
{
	guint n_ids = 0;

	for (gsize i = 0; i < response->n_pod_resources; i++)
		if (!pod_add(list, response->pod_resources[i], &n_ids, error))
			return FALSE;
	return TRUE;
}

RdmadPodList *rdmad_pod_list_parse(const guint8 *message, gsize size, GError **error)
{
	gsize left = UNPACKED_MAX;
	ProtobufCAllocator budget = { budget_alloc, budget_free, &left };
	g_autoptr(RdmadPodList) list = list_new();
	V1__ListPodResourcesResponse *response;
	gboolean ok;

	if (size > RDMAD_POD_LIST_MAX_MESSAGE) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "podresources lists %" G_GSIZE_FORMAT " bytes", size);
		return NULL;
	}
	response = v1__list_pod_resources_response__unpack(&budget, size, message);
	if (!response) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "podresources sent %" G_GSIZE_FORMAT " bytes that are not a list",
			    size);
		return NULL;
	}
	ok = list_fill(list, response, error);
	v1__list_pod_resources_response__free_unpacked(response, &budget);
	return ok ? g_steal_pointer(&list) : NULL;
}
