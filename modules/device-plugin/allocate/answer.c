/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/answer.h"

#include <rdmad/allocation-dir.h>

#include "allocate/allocation-devices.h"
#include "allocate/allocation-directory.h"
#include "allocate/device-answer.h"

#define NCCL_CONF_PATH ALLOCATION_DIRECTORY_MOUNT "/" ALLOCATION_NCCL_CONF

struct ContainerAnswer {
	V1beta1__ContainerAllocateResponse message;
	V1beta1__ContainerAllocateResponse__EnvsEntry id, nccl_conf;
	V1beta1__Mount mount, *mounts[1];
	char *directory;
	const DeviceAnswer *devices;
	GPtrArray *envs;  /* `id`, `nccl_conf`, and those of `devices` */
	GPtrArray *names; /* of V1beta1__CDIDevice; they own the strings */
};

/* ---- parts ---- */

/* `name` and `value` outlive the answer. */
static void add_env(ContainerAnswer *answer, V1beta1__ContainerAllocateResponse__EnvsEntry *env,
		    const char *name, const char *value)
{
	v1beta1__container_allocate_response__envs_entry__init(env);
	env->key = (char *)name;
	env->value = (char *)value;
	g_ptr_array_add(answer->envs, env);
}

static void add_envs(ContainerAnswer *answer, const RdmadAllocation *allocation)
{
	V1beta1__ContainerAllocateResponse *message = &answer->message;

	add_env(answer, &answer->id, "RDMAD_ALLOCATION", allocation->id);
	add_env(answer, &answer->nccl_conf, "NCCL_CONF_FILE", NCCL_CONF_PATH);
	g_ptr_array_extend(answer->envs, answer->devices->envs, NULL, NULL);
	message->n_envs = answer->envs->len;
	message->envs = (V1beta1__ContainerAllocateResponse__EnvsEntry **)answer->envs->pdata;
}

static void add_directory(ContainerAnswer *answer, const RdmadAllocation *allocation,
			  const char *run_dir)
{
	V1beta1__Mount *mount = &answer->mount;

	answer->directory = rdmad_allocation_dir_path(run_dir, allocation->id);
	v1beta1__mount__init(mount);
	mount->container_path = (char *)ALLOCATION_DIRECTORY_MOUNT;
	mount->host_path = answer->directory;
	mount->read_only = TRUE;
	answer->mounts[0] = mount;
	answer->message.n_mounts = G_N_ELEMENTS(answer->mounts);
	answer->message.mounts = answer->mounts;
}

static void name_free(gpointer data)
{
	V1beta1__CDIDevice *name = data;

	g_free(name->name);
	g_free(name);
}

static void add_name(ContainerAnswer *answer, const char *text)
{
	V1beta1__CDIDevice *name = g_new(V1beta1__CDIDevice, 1);

	v1beta1__cdidevice__init(name);
	name->name = g_strdup(text);
	g_ptr_array_add(answer->names, name);
}

static void add_devices(ContainerAnswer *answer, const GPtrArray *names)
{
	V1beta1__ContainerAllocateResponse *message = &answer->message;
	const GPtrArray *files = answer->devices->files;

	if (!names) {
		message->n_devices = files->len;
		message->devices = (V1beta1__DeviceSpec **)files->pdata;
		return;
	}
	for (guint i = 0; i < names->len; i++)
		add_name(answer, names->pdata[i]);
	message->n_cdi_devices = answer->names->len;
	message->cdi_devices = (V1beta1__CDIDevice **)answer->names->pdata;
}

/* ---- message ---- */

GPtrArray *container_cdi_names(const Cdi *cdi, const GPtrArray *devices,
			       const ResourceSettings *settings)
{
	return cdi && settings->cdi == CDI_ON ? cdi_names(cdi, devices, settings) : NULL;
}

ContainerAnswer *container_answer_new(const Pool *pool, const RdmadAllocation *allocation,
				      const char *run_dir, const Cdi *cdi)
{
	const ResourceSettings *settings = pool_settings(pool);
	g_autoptr(GPtrArray) devices =
		allocation_devices(pool, (const char *const *)allocation->slots);
	g_autoptr(GPtrArray) names =
		allocation->cdi ? container_cdi_names(cdi, devices, settings) : NULL;
	ContainerAnswer *answer = g_new0(ContainerAnswer, 1);

	v1beta1__container_allocate_response__init(&answer->message);
	answer->devices = device_answers_get(pool_answers(pool), devices, settings);
	answer->envs = g_ptr_array_new();
	answer->names = g_ptr_array_new_with_free_func(name_free);
	add_envs(answer, allocation);
	add_directory(answer, allocation, run_dir);
	add_devices(answer, names);
	return answer;
}

void container_answer_free(ContainerAnswer *answer)
{
	device_answer_unref(answer->devices);
	g_ptr_array_unref(answer->envs);
	g_ptr_array_unref(answer->names);
	g_free(answer->directory);
	g_free(answer);
}

V1beta1__ContainerAllocateResponse *container_answer_message(const ContainerAnswer *answer)
{
	return (V1beta1__ContainerAllocateResponse *)&answer->message;
}
