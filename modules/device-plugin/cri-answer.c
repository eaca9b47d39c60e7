/* SPDX-License-Identifier: Apache-2.0 */
#include "cri-answer.h"

#include <rdmad/error.h>

#include "cri.pb-c.h"
#include "unpack.h"

static gboolean is_of_pod(const Runtime__V1__PodSandbox *sandbox, const char *pod_namespace,
			  const char *pod_name)
{
	return sandbox->metadata && *sandbox->id &&
	       sandbox->state == RUNTIME__V1__POD_SANDBOX_STATE__SANDBOX_READY &&
	       g_str_equal(sandbox->metadata->name, pod_name) &&
	       g_str_equal(sandbox->metadata->namespace_, pod_namespace);
}

gboolean rdmad_cri_answer_sandbox(const guint8 *message, gsize size, const char *pod_namespace,
				  const char *pod_name, char **id, char **pod_uid, GError **error)
{
	g_autoptr(RdmadUnpacked) unpacked = rdmad_unpack(
		&runtime__v1__list_pod_sandbox_response__descriptor, message, size, error);
	const Runtime__V1__ListPodSandboxResponse *response;
	const Runtime__V1__PodSandbox *newest = NULL;

	if (!unpacked)
		return FALSE;
	response = rdmad_unpacked_message(unpacked);
	for (size_t i = 0; i < response->n_items; i++) {
		const Runtime__V1__PodSandbox *one = response->items[i];

		if (is_of_pod(one, pod_namespace, pod_name) &&
		    (!newest || one->created_at > newest->created_at))
			newest = one;
	}
	if (!newest) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "it has no sandbox of %s/%s that is ready", pod_namespace, pod_name);
		return FALSE;
	}
	*id = g_strdup(newest->id);
	*pod_uid = g_strdup(newest->metadata->uid);
	return TRUE;
}

gboolean rdmad_cri_answer_network(const guint8 *message, gsize size, RdmadCriNetwork *network,
				  GError **error)
{
	g_autoptr(RdmadUnpacked) unpacked = rdmad_unpack(
		&runtime__v1__pod_sandbox_status_response__descriptor, message, size, error);
	const Runtime__V1__PodSandboxStatusResponse *response;
	const Runtime__V1__LinuxPodSandboxStatus *os;

	if (!unpacked)
		return FALSE;
	response = rdmad_unpacked_message(unpacked);
	os = response->status ? response->status->linux_status : NULL;
	if (!os || !os->namespaces || !os->namespaces->options)
		*network = RDMAD_CRI_NETWORK_UNKNOWN;
	else if (os->namespaces->options->network == RUNTIME__V1__NAMESPACE_MODE__NODE)
		*network = RDMAD_CRI_NETWORK_HOST;
	else
		*network = RDMAD_CRI_NETWORK_POD;
	return TRUE;
}
