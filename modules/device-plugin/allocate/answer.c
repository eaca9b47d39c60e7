/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/answer.h"

#include <rdmad/allocation-dir.h>

#include "allocate/allocation-devices.h"
#include "allocate/allocation-directory.h"
#include "allocate/env.h"

#define NCCL_HCAS_MAX 32u

struct ContainerAnswer {
	V1beta1__ContainerAllocateResponse message;
	GStringChunk *texts; /* storage of the strings below */
	GPtrArray *envs, *mounts, *files, *names;
};

static char *keep(ContainerAnswer *answer, const char *text)
{
	return g_string_chunk_insert(answer->texts, text);
}

/* ---- parts ---- */

static void add_env(ContainerAnswer *answer, const char *name, const char *value)
{
	V1beta1__ContainerAllocateResponse__EnvsEntry *env =
		g_new(V1beta1__ContainerAllocateResponse__EnvsEntry, 1);

	v1beta1__container_allocate_response__envs_entry__init(env);
	env->key = keep(answer, name);
	env->value = keep(answer, value);
	g_ptr_array_add(answer->envs, env);
}

static void add_directory(ContainerAnswer *answer, const RdmadAllocation *allocation,
			  const char *run_dir)
{
	V1beta1__Mount *mount = g_new(V1beta1__Mount, 1);
	g_autofree char *path = rdmad_allocation_dir_path(run_dir, allocation->id);

	v1beta1__mount__init(mount);
	mount->container_path = keep(answer, ALLOCATION_DIRECTORY_MOUNT);
	mount->host_path = keep(answer, path);
	mount->read_only = TRUE;
	g_ptr_array_add(answer->mounts, mount);
	add_env(answer, "NCCL_CONF_FILE", ALLOCATION_DIRECTORY_MOUNT "/" ALLOCATION_NCCL_CONF);
}

static void add_device_env(ContainerAnswer *answer, const GPtrArray *devices,
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

/* NCCL reads at most 32 devices; a truncated list would hide the others. */
static void add_nccl_hca(ContainerAnswer *answer, const GPtrArray *devices)
{
	g_autoptr(GString) list = g_string_new(NULL);

	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		g_string_append_printf(list, "%s%s", i ? "," : "=", dev->name);
	}
	if (devices->len && devices->len <= NCCL_HCAS_MAX)
		add_env(answer, "NCCL_IB_HCA", list->str);
}

/* The pnetid is the MAC address of the first device, so the same slots have the same pnetid. */
static void add_smcr_pnet(ContainerAnswer *answer, const GPtrArray *devices)
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

static void add_device_file(ContainerAnswer *answer, const char *path, const char *permissions)
{
	V1beta1__DeviceSpec *file = g_new(V1beta1__DeviceSpec, 1);

	v1beta1__device_spec__init(file);
	file->host_path = keep(answer, path);
	file->container_path = file->host_path;
	file->permissions = keep(answer, permissions);
	g_ptr_array_add(answer->files, file);
}

static void add_device_files(ContainerAnswer *answer, const GPtrArray *devices,
			     const ResourceSettings *settings)
{
	g_autoptr(GPtrArray) paths = device_nodes(devices, settings);

	for (guint i = 0; i < paths->len; i++)
		add_device_file(answer, paths->pdata[i], settings->permissions);
}

static void add_name(ContainerAnswer *answer, const char *text)
{
	V1beta1__CDIDevice *name = g_new(V1beta1__CDIDevice, 1);

	v1beta1__cdidevice__init(name);
	name->name = keep(answer, text);
	g_ptr_array_add(answer->names, name);
}

static void add_devices(ContainerAnswer *answer, const GPtrArray *devices,
			const ResourceSettings *settings, const Cdi *cdi)
{
	g_autoptr(GPtrArray) names =
		cdi && settings->cdi == CDI_ON ? cdi_names(cdi, devices, settings) : NULL;

	if (!names)
		add_device_files(answer, devices, settings);
	for (guint i = 0; names && i < names->len; i++)
		add_name(answer, names->pdata[i]);
}

/* ---- message ---- */

static void message_assemble(ContainerAnswer *answer)
{
	V1beta1__ContainerAllocateResponse *message = &answer->message;

	message->n_envs = answer->envs->len;
	message->envs = (V1beta1__ContainerAllocateResponse__EnvsEntry **)answer->envs->pdata;
	message->n_mounts = answer->mounts->len;
	message->mounts = (V1beta1__Mount **)answer->mounts->pdata;
	message->n_devices = answer->files->len;
	message->devices = (V1beta1__DeviceSpec **)answer->files->pdata;
	message->n_cdi_devices = answer->names->len;
	message->cdi_devices = (V1beta1__CDIDevice **)answer->names->pdata;
}

ContainerAnswer *container_answer_new(const Pool *pool, const RdmadAllocation *allocation,
				      const char *run_dir, const Cdi *cdi)
{
	const ResourceSettings *settings = pool_settings(pool);
	g_autoptr(GPtrArray) devices = allocation_devices(pool, allocation);
	ContainerAnswer *answer = g_new0(ContainerAnswer, 1);

	v1beta1__container_allocate_response__init(&answer->message);
	answer->texts = g_string_chunk_new(512);
	answer->envs = g_ptr_array_new_with_free_func(g_free);
	answer->mounts = g_ptr_array_new_with_free_func(g_free);
	answer->files = g_ptr_array_new_with_free_func(g_free);
	answer->names = g_ptr_array_new_with_free_func(g_free);
	add_env(answer, "RDMAD_ALLOCATION", allocation->id);
	add_directory(answer, allocation, run_dir);
	add_device_env(answer, devices, settings);
	if (settings->nccl_hca)
		add_nccl_hca(answer, devices);
	if (settings->smcr_pnet)
		add_smcr_pnet(answer, devices);
	add_devices(answer, devices, settings, cdi);
	message_assemble(answer);
	return answer;
}

void container_answer_free(ContainerAnswer *answer)
{
	g_ptr_array_unref(answer->envs);
	g_ptr_array_unref(answer->mounts);
	g_ptr_array_unref(answer->files);
	g_ptr_array_unref(answer->names);
	g_string_chunk_free(answer->texts);
	g_free(answer);
}

V1beta1__ContainerAllocateResponse *container_answer_message(const ContainerAnswer *answer)
{
	return (V1beta1__ContainerAllocateResponse *)&answer->message;
}
