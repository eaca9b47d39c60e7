/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/allocations, POST /api/v1/allocations/refresh: the holders of devices */
#include <rdmad/allocations.h>
#include <rdmad/cgroup-pod.h>
#include <rdmad/inventory.h>
#include <rdmad/loop.h>
#include <rdmad/pods.h>

#include "api/json.h"
#include "api/texts.h"
#include "service/allocations-private.h"
#include "service/handed-out.h"

static json_t *attachments_json(const RdmadAllocation *allocation)
{
	json_t *array = json_array();

	for (guint i = 0; i < allocation->n_attachments; i++) {
		const RdmadAttachment *a = &allocation->attachments[i];
		json_t *object = json_object();

		api_set(object, "netns", rdmad_json_string(a->netns));
		api_set(object, "interface", rdmad_json_string(a->interface));
		api_set(object, "device_name", rdmad_json_string(a->rdma_device));
		api_set(object, "addresses", api_json_strings(a->addresses));
		api_set(object, "gid_index", api_json_number(a->gid_index));
		json_array_append_new(array, object);
	}
	return array;
}

static const char *device_name(RdmadInventory *inventory, const char *id)
{
	const RdmadAwayDevice *away = rdmad_inventory_find_away(inventory, id);
	const RdmadDevice *dev = away ? away->device : rdmad_inventory_lookup(inventory, id);

	return dev ? dev->name : NULL;
}

/* Returns the current names of the devices; null for a removed one. */
static json_t *device_names_json(RdmadInventory *inventory, const RdmadAllocation *allocation)
{
	json_t *names = json_array();

	for (char **id = allocation->devices; id && *id; id++)
		json_array_append_new(names, rdmad_json_string(device_name(inventory, *id)));
	return names;
}

static json_t *pod_uid_json(const RdmadAllocation *allocation)
{
	const char *path = allocation->pod_cgroup;
	char uid[sizeof(((RdmadCgroupPod *)NULL)->uid)];

	return rdmad_json_string(path && rdmad_cgroup_pod_path(path, uid) ? uid : NULL);
}

static json_t *wrong_files_json(const RdmadServices *services, const RdmadAllocation *allocation)
{
	const GPtrArray *wrong = rdmad_handed_out_wrong(services->handed_out, allocation);
	json_t *array = json_array();

	for (guint i = 0; wrong && i < MIN(wrong->len, allocation->n_files); i++) {
		const RdmadAllocationFile *file = &allocation->files[i];

		if (wrong->pdata[i])
			json_array_append_new(array,
					      json_pack("{s:o, s:o, s:o}", "path",
							rdmad_json_string(file->path), "device_id",
							rdmad_json_string(file->device), "reason",
							rdmad_json_string(wrong->pdata[i])));
	}
	return array;
}

static json_t *allocation_json(gconstpointer object_allocation, gconstpointer data)
{
	const RdmadAllocation *allocation = object_allocation;
	const RdmadServices *services = data;
	json_t *object = json_object();

	api_set(object, "id", rdmad_json_string(allocation->id));
	api_set(object, "resource", rdmad_json_string(allocation->resource));
	api_set(object, "slots", api_json_strings(allocation->slots));
	api_set(object, "device_ids", api_json_strings(allocation->devices));
	api_set(object, "device_names", device_names_json(services->inventory, allocation));
	api_set(object, "owner", rdmad_json_string(allocation->owner));
	api_set(object, "mode", rdmad_json_string(allocation->mode));
	api_set(object, "namespace", rdmad_json_string(allocation->pod_namespace));
	api_set(object, "pod", rdmad_json_string(allocation->pod_name));
	api_set(object, "pod_uid", pod_uid_json(allocation));
	api_set(object, "container", rdmad_json_string(allocation->container));
	api_set(object, "since", api_json_time(allocation->since_us));
	api_set(object, "attachments", attachments_json(allocation));
	api_set(object, "wrong_files", wrong_files_json(services, allocation));
	return object;
}

static gconstpointer allocation_ref(gconstpointer allocation)
{
	return rdmad_allocation_ref(allocation);
}

static void allocation_unref(gconstpointer allocation)
{
	rdmad_allocation_unref(allocation);
}

ApiTexts *api_allocation_texts_new(void)
{
	return api_texts_new(allocation_ref, allocation_unref);
}

/* Returns what the texts of allocations depend on, beside the allocations themselves. */
static char *device_names(const RdmadServices *services)
{
	g_autoptr(GPtrArray) devices = rdmad_inventory_list_everywhere(services->inventory);
	GString *names = g_string_new(NULL);

	g_string_append_printf(names, "%" G_GUINT64_FORMAT "\n",
			       rdmad_handed_out_version(services->handed_out));
	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		g_string_append_printf(names, "%s %s\n", dev->id, dev->name);
	}
	return g_string_free(names, FALSE);
}

typedef struct {
	const RdmadServices *services;
	ApiTexts *texts;
} Listing;

static void listing_add(const RdmadAllocation *allocation, gpointer data)
{
	const Listing *listing = data;

	api_texts_add(listing->texts, allocation, allocation_json, allocation, listing->services);
}

static GBytes *allocations_build(const RdmadServices *services, gconstpointer read)
{
	g_autofree char *names = device_names(services);
	const Listing listing = { services, api_allocation_texts(services, names) };
	GString *body = g_string_new("{\"allocations\":");

	api_texts_begin(listing.texts, body);
	rdmad_allocations_foreach(services->allocations, listing_add, (gpointer)&listing);
	api_texts_end(listing.texts, NULL);
	g_string_append_c(body, '}');
	return g_string_free_to_bytes(body);
}

static const ApiResource allocations_resource = { .build = allocations_build };

void api_get_allocations(RdmadHttpRequest *request, gpointer data)
{
	api_reply_shared(request, data, API_SHARED_ALLOCATIONS, &allocations_resource);
}

typedef struct {
	const RdmadServices *services;
	RdmadHttpRequest *request; /* NULL: the client has gone */
	RdmadEvent *confirm;	   /* the second refresh, if one is needed */
	gboolean asking;
} Refresh;

static void refresh_free(Refresh *refresh)
{
	rdmad_event_free(refresh->confirm);
	g_free(refresh);
}

/* Called at the end of every refresh, whether or not a request waits for it. */
static void refresh_gone(gpointer data)
{
	Refresh *refresh = data;

	refresh->request = NULL;
	if (!refresh->asking)
		refresh_free(refresh);
}

static void refresh_reply(const Refresh *refresh, const GError *error)
{
	rdmad_http_request_on_gone(refresh->request, NULL, NULL);
	if (error)
		rdmad_http_fail(refresh->request, 503, "%s", error->message);
	else
		api_get_allocations(refresh->request, (gpointer)refresh->services);
}

static void refresh_done(const GError *error, gpointer data);

static void refresh_ask(gpointer data)
{
	Refresh *refresh = data;

	refresh->asking = TRUE;
	rdmad_pods_refresh(refresh->services->pods, NULL, refresh_done, refresh);
}

/* One list without an allocation does not end it: the response would show an allocation that has
 * ended. */
static gboolean refresh_confirms(Refresh *refresh)
{
	if (refresh->confirm || !rdmad_allocations_some_missing(refresh->services->allocations))
		return FALSE;
	refresh->confirm =
		rdmad_loop_add_timer(refresh->services->loop, NULL, refresh_ask, refresh);
	rdmad_event_arm(refresh->confirm, RDMAD_ALLOCATION_CONFIRM_US / 1000 + 1);
	return TRUE;
}

static void refresh_done(const GError *error, gpointer data)
{
	Refresh *refresh = data;

	refresh->asking = FALSE;
	if (refresh->request && !error && refresh_confirms(refresh))
		return;
	if (refresh->request)
		refresh_reply(refresh, error);
	refresh_free(refresh);
}

void api_post_refresh(RdmadHttpRequest *request, gpointer data)
{
	Refresh *refresh = g_new0(Refresh, 1);

	refresh->services = data;
	refresh->request = request;
	rdmad_http_request_on_gone(request, refresh_gone, refresh);
	refresh_ask(refresh);
}
