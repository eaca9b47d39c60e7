/* SPDX-License-Identifier: Apache-2.0 */
#include "attachment.h"

#include <jansson.h>
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/json.h>
#include <string.h>

#define DEPTH 4u

static void nic_free(gpointer data)
{
	CniNic *nic = data;

	g_free(nic->ifname);
	g_free(nic->device_id);
	g_free(nic->allocation);
	g_free(nic->slot_id);
	g_free(nic->rdma_device);
	g_strfreev(nic->addresses);
	g_free(nic->ranges);
	g_free(nic);
}

void cni_attachment_free(gpointer data)
{
	CniAttachment *attachment = data;

	if (!attachment)
		return;
	g_free(attachment->network);
	g_free(attachment->container_id);
	g_free(attachment->ifname);
	g_free(attachment->netns);
	g_free(attachment->boot);
	g_free(attachment->pod_namespace);
	g_free(attachment->pod_name);
	g_free(attachment->environment);
	g_free(attachment->config);
	g_ptr_array_unref(attachment->nics);
	g_free(attachment->steps);
	g_free(attachment->result);
	g_free(attachment);
}

/* prevResult belongs to earlier plugins, and the undo does not need it. */
static char *config_text(const CniRequest *request)
{
	json_t *copy = json_copy(request->config);

	json_object_del(copy, "prevResult");
	return rdmad_json_dump(copy, JSON_COMPACT);
}

CniAttachment *cni_attachment_new(const CniRequest *request, const RdmadNetnsId *netns,
				  const char *boot)
{
	CniAttachment *attachment = g_new0(CniAttachment, 1);

	attachment->nics = g_ptr_array_new_with_free_func(nic_free);
	attachment->boot = g_strdup(boot);
	if (!request)
		return attachment;
	attachment->network = g_strdup(request->network);
	attachment->container_id = g_strdup(request->container_id);
	attachment->ifname = g_strdup(request->ifname);
	attachment->netns = g_strdup(request->netns);
	attachment->netns_id = *netns;
	attachment->pod_namespace = g_strdup(request->pod_namespace);
	attachment->pod_name = g_strdup(request->pod_name);
	attachment->environment = g_strjoinv("\n", request->environment);
	attachment->config = config_text(request);
	attachment->since_us = rdmad_wall_us();
	return attachment;
}

CniNic *cni_attachment_add_nic(CniAttachment *attachment)
{
	CniNic *nic = g_new0(CniNic, 1);

	nic->gid_index = RDMAD_UNKNOWN;
	g_ptr_array_add(attachment->nics, nic);
	return nic;
}

guint cni_attachment_next_ipam(const CniAttachment *attachment, guint from)
{
	while (from < attachment->nics->len && !((CniNic *)attachment->nics->pdata[from])->ipam)
		from++;
	return from;
}

char *cni_attachment_key(const char *network, const char *container_id, const char *ifname)
{
	return g_strjoin("/", container_id, ifname, network, NULL);
}

/* ---- NICs as JSON ---- */

static json_t *nic_to_json(const CniNic *nic)
{
	json_t *addresses = json_array();

	for (char **address = nic->addresses; address && *address; address++)
		json_array_append_new(addresses, json_string(*address));
	return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:o, s:i, s:b, s:s?}", "interface",
			 nic->ifname, "device", nic->device_id, "mode", cni_modes[nic->mode],
			 "allocation", nic->allocation, "slot", nic->slot_id, "rdma_device",
			 nic->rdma_device, "addresses", addresses, "gid_index", nic->gid_index,
			 "ipam", nic->ipam, "ranges", nic->ranges);
}

char *cni_nics_text(const CniAttachment *attachment)
{
	json_t *list = json_array();

	for (guint i = 0; i < attachment->nics->len; i++)
		json_array_append_new(list, nic_to_json(attachment->nics->pdata[i]));
	return rdmad_json_dump(list, JSON_COMPACT);
}

static char **texts_of(const json_t *list)
{
	GPtrArray *texts = g_ptr_array_new();
	const json_t *entry;
	gsize i;

	json_array_foreach(list, i, entry)
		g_ptr_array_add(texts, g_strdup(json_string_value(entry)));
	g_ptr_array_add(texts, NULL);
	return (char **)g_ptr_array_free(texts, FALSE);
}

static char *text_of(const json_t *json, const char *key)
{
	return g_strdup(json_string_value(json_object_get(json, key)));
}

gboolean cni_nics_parse(CniAttachment *attachment, const char *text, GError **error)
{
	json_t *list = rdmad_json_parse(text, strlen(text), DEPTH, error);
	const json_t *entry;
	gsize i;

	json_array_foreach(list, i, entry)
	{
		CniNic *nic = cni_attachment_add_nic(attachment);

		nic->ifname = text_of(entry, "interface");
		nic->device_id = text_of(entry, "device");
		nic->mode = cni_mode_parse(json_string_value(json_object_get(entry, "mode")));
		nic->allocation = text_of(entry, "allocation");
		nic->slot_id = text_of(entry, "slot");
		nic->rdma_device = text_of(entry, "rdma_device");
		nic->addresses = texts_of(json_object_get(entry, "addresses"));
		nic->gid_index = (int)json_integer_value(json_object_get(entry, "gid_index"));
		nic->ipam = json_is_true(json_object_get(entry, "ipam"));
		nic->ranges = text_of(entry, "ranges");
		attachment->asked_ipam |= nic->ipam;
	}
	json_decref(list);
	return list != NULL;
}

gboolean cni_attachment_netns_is_gone(const CniAttachment *attachment, const char *boot)
{
	rdmad_autofd int fd = -1;
	g_autoptr(GError) why = NULL;
	RdmadNetnsId id;

	if (g_strcmp0(attachment->boot, boot) != 0 || !attachment->netns)
		return TRUE;
	fd = rdmad_netns_open(attachment->netns, &id, &why);
	if (fd >= 0)
		return !rdmad_netns_id_equal(&id, &attachment->netns_id);
	return rdmad_netns_is_gone(why);
}
