/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/device-answer.h"

#include <rdmad/device.h>

#include "allocate/allocation-devices.h"
#include "allocate/env.h"

#define KEPT_MAX      64u
#define NCCL_HCAS_MAX 32u

struct DeviceAnswers {
	GHashTable *kept; /* ids of the devices -> DeviceAnswer */
};

/* ---- parts ---- */

static void add_env(DeviceAnswer *answer, const char *name, const char *value)
{
	V1beta1__ContainerAllocateResponse__EnvsEntry *env =
		g_new(V1beta1__ContainerAllocateResponse__EnvsEntry, 1);

	v1beta1__container_allocate_response__envs_entry__init(env);
	env->key = g_string_chunk_insert(answer->texts, name);
	env->value = g_string_chunk_insert(answer->texts, value);
	g_ptr_array_add(answer->envs, env);
}

static void add_device_env(DeviceAnswer *answer, const GPtrArray *devices,
			   const ResourceSettings *settings)
{
	g_autofree char *name = device_env_name(settings->name);
	g_autofree char *info_name = g_strconcat(name, "_INFO", NULL);
	g_autofree char *list = device_env_list(devices);
	g_autofree char *info = device_env_info(devices, settings);

	add_env(answer, name, list);
	if (info)
		add_env(answer, info_name, info);
}

/* Returns whether the resource has the device without some of its ports. */
static gboolean is_part(const RdmadDevice *dev, const Selector *selector)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (!selector_takes_port(selector, dev, &dev->ports[i]))
			return TRUE;
	return FALSE;
}

/* Adds "mlx5_0", or the ports that the resource selects, "mlx5_0:2".  Returns the number of
 * entries. */
static guint append_hcas(GString *list, const RdmadDevice *dev, const Selector *selector)
{
	guint n = 0;

	if (!is_part(dev, selector)) {
		g_string_append_printf(list, "%s%s", list->len ? "," : "=", dev->name);
		return 1;
	}
	for (guint i = 0; i < dev->n_ports; i++) {
		if (!selector_takes_port(selector, dev, &dev->ports[i]))
			continue;
		g_string_append_printf(list, "%s%s:%u", list->len ? "," : "=", dev->name,
				       dev->ports[i].number);
		n++;
	}
	return n;
}

/* NCCL reads at most 32 entries; a truncated list would hide the others.  A management device is
 * none of its. */
static void add_nccl_hca(DeviceAnswer *answer, const GPtrArray *devices, const Selector *selector)
{
	g_autoptr(GString) list = g_string_new(NULL);
	guint n = 0;

	for (guint i = 0; i < devices->len; i++)
		if (rdmad_device_role(devices->pdata[i]) == RDMAD_ROLE_NIC)
			n += append_hcas(list, devices->pdata[i], selector);
	if (n && n <= NCCL_HCAS_MAX)
		add_env(answer, "NCCL_IB_HCA", list->str);
}

/* The pnetid is the MAC address of the first device, so the same slots have the same pnetid. */
static void add_smcr_pnet(DeviceAnswer *answer, const GPtrArray *devices)
{
	const RdmadDevice *dev = devices->len ? devices->pdata[0] : NULL;
	char text[13];
	guint8 mac[6];

	if (!dev || !rdmad_guid_get_mac(dev->node_guid, mac))
		return;
	g_snprintf(text, sizeof(text), "%02X%02X%02X%02X%02X%02X", mac[0], mac[1], mac[2], mac[3],
		   mac[4], mac[5]);
	add_env(answer, "SMCR_PNET", text);
}

static void add_file(DeviceAnswer *answer, const char *path, const char *permissions)
{
	V1beta1__DeviceSpec *file = g_new(V1beta1__DeviceSpec, 1);

	v1beta1__device_spec__init(file);
	file->host_path = g_string_chunk_insert(answer->texts, path);
	file->container_path = file->host_path;
	file->permissions = g_string_chunk_insert(answer->texts, permissions);
	g_ptr_array_add(answer->files, file);
}

static void add_files(DeviceAnswer *answer, const GPtrArray *devices,
		      const ResourceSettings *settings)
{
	g_autoptr(GPtrArray) paths = device_nodes(devices, settings);

	for (guint i = 0; i < paths->len; i++)
		add_file(answer, paths->pdata[i], settings->permissions);
}

/* ---- answer ---- */

static DeviceAnswer *answer_new(const GPtrArray *devices, const ResourceSettings *settings)
{
	DeviceAnswer *answer = g_rc_box_new0(DeviceAnswer);

	answer->texts = g_string_chunk_new(512);
	answer->envs = g_ptr_array_new_with_free_func(g_free);
	answer->files = g_ptr_array_new_with_free_func(g_free);
	add_device_env(answer, devices, settings);
	if (settings->nccl_hca)
		add_nccl_hca(answer, devices, &settings->selector);
	if (settings->smcr_pnet)
		add_smcr_pnet(answer, devices);
	add_files(answer, devices, settings);
	return answer;
}

static void answer_clear(gpointer data)
{
	DeviceAnswer *answer = data;

	g_ptr_array_unref(answer->envs);
	g_ptr_array_unref(answer->files);
	g_string_chunk_free(answer->texts);
}

void device_answer_unref(const DeviceAnswer *answer)
{
	g_rc_box_release_full((DeviceAnswer *)answer, answer_clear);
}

/* ---- table ---- */

static char *devices_key(const GPtrArray *devices)
{
	GString *key = g_string_new(NULL);

	for (guint i = 0; i < devices->len; i++) {
		g_string_append(key, ((const RdmadDevice *)devices->pdata[i])->id);
		g_string_append_c(key, '\n');
	}
	return g_string_free(key, FALSE);
}

const DeviceAnswer *device_answers_get(DeviceAnswers *answers, const GPtrArray *devices,
				       const ResourceSettings *settings)
{
	g_autofree char *key = devices_key(devices);
	DeviceAnswer *answer = g_hash_table_lookup(answers->kept, key);

	if (!answer) {
		if (g_hash_table_size(answers->kept) >= KEPT_MAX)
			device_answers_clear(answers);
		answer = answer_new(devices, settings);
		g_hash_table_insert(answers->kept, g_steal_pointer(&key), answer);
	}
	return g_rc_box_acquire(answer);
}

void device_answers_clear(DeviceAnswers *answers)
{
	g_hash_table_remove_all(answers->kept);
}

DeviceAnswers *device_answers_new(void)
{
	DeviceAnswers *answers = g_new0(DeviceAnswers, 1);

	answers->kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					      (GDestroyNotify)device_answer_unref);
	return answers;
}

void device_answers_free(DeviceAnswers *answers)
{
	g_hash_table_unref(answers->kept);
	g_free(answers);
}
