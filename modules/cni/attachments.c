/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <rdmad/device.h>
#include <rdmad/http.h>
#include <rdmad/inventory.h>

#include "cni.h"
#include "journal.h"

#define PATH "/api/v1/attachments"

static const RdmadCommandColumn columns[] = {
	{ "NAMESPACE", "namespace" },
	{ "POD", "pod" },
	{ "CONTAINER", "container_id", TRUE },
	{ "NETWORK", "network", TRUE },
	{ "INTERFACE", "interface" },
	{ "DEVICE", "device_name" },
	{ "MODE", "mode", TRUE },
	{ "ADDRESSES", "addresses" },
	{ "GID", "gid_index" },
	{ "STATE", "state" },
	{ NULL, NULL },
};

static const RdmadCommandOption options[] = {
	{ "pod", "NAMESPACE/NAME", "only those of this pod" },
	{ NULL, NULL, NULL },
};

const RdmadCommand cni_commands[] = {
	{
		.name = "attachments",
		.summary = "the NICs that pods were given",
		.path = PATH,
		.options = options,
		.rows = "attachments",
		.columns = columns,
	},
	{ .name = NULL },
};

typedef struct {
	Cni *cni;
	const char *pod; /* NULL: all */
	json_t *rows;
} Listing;

static const char *state_name(CniState state)
{
	static const char *const names[] = { [CNI_STATE_BEGUN] = "begun",
					     [CNI_STATE_PLANNED] = "planned",
					     [CNI_STATE_DONE] = "done",
					     [CNI_STATE_LEFT] = "left",
					     [CNI_STATE_UNDONE] = "undone" };

	return state < G_N_ELEMENTS(names) ? names[state] : "unknown";
}

static json_t *addresses_json(const CniNic *nic)
{
	json_t *list = json_array();

	for (char **address = nic->addresses; address && *address; address++)
		json_array_append_new(list, json_string(*address));
	return list;
}

static json_t *row_new(const Listing *listing, const CniAttachment *attachment, const CniNic *nic)
{
	RdmadInventory *inventory = rdmad_module_inventory(listing->cni->self);
	const RdmadAwayDevice *away = rdmad_inventory_find_away(inventory, nic->device_id);
	const RdmadDevice *dev =
		away ? away->device : rdmad_inventory_lookup(inventory, nic->device_id);
	json_t *row =
		json_pack("{s:s?, s:s?, s:s, s:s, s:s, s:s, s:s?, s:s, s:s?, s:o, s:s}",
			  "namespace", attachment->pod_namespace, "pod", attachment->pod_name,
			  "container_id", attachment->container_id, "network", attachment->network,
			  "interface", nic->ifname, "device_id", nic->device_id, "device_name",
			  nic->rdma_device
				  ?: dev ? dev->name
					 : NULL,
			  "mode", cni_modes[nic->mode], "allocation", nic->allocation, "addresses",
			  addresses_json(nic), "state", state_name(attachment->state));

	json_object_set_new(row, "gid_index",
			    nic->gid_index == RDMAD_UNKNOWN ? json_null()
							    : json_integer(nic->gid_index));
	return row;
}

static void attachment_list(CniAttachment *attachment, gpointer data)
{
	const Listing *listing = data;
	g_autofree char *pod =
		attachment->pod_name && attachment->pod_namespace
			? g_strconcat(attachment->pod_namespace, "/", attachment->pod_name, NULL)
			: NULL;

	if (listing->pod && g_strcmp0(pod, listing->pod) != 0)
		return;
	for (guint i = 0; i < attachment->nics->len; i++)
		json_array_append_new(listing->rows,
				      row_new(listing, attachment, attachment->nics->pdata[i]));
}

static void get_attachments(RdmadHttpRequest *request, gpointer data)
{
	const Listing listing = { data, rdmad_http_request_query(request, "pod"), json_array() };

	cni_journal_foreach(listing.cni->journal, attachment_list, (gpointer)&listing);
	rdmad_http_reply_json(request, json_pack("{s:o}", "attachments", listing.rows));
}

gboolean cni_attachments_route(Cni *cni, GError **error)
{
	return rdmad_http_route(rdmad_module_http(cni->self), cni->self, "GET", PATH,
				RDMAD_HTTP_LOCAL, get_attachments, cni, error);
}

void cni_attachments_unroute(Cni *cni)
{
	rdmad_http_unroute(rdmad_module_http(cni->self), "GET", PATH);
}
