/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are rejected, or are a list in which every listed pod is found. */
#include <stdint.h>
#include <string.h>

#include "service/pod-list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const RdmadPodList *list, const RdmadPodDevices *held)
{
	g_assert_true(*held->pod_namespace && *held->pod_name && *held->container);
	g_assert_nonnull(held->ids[0]);
	for (guint i = 0; held->ids[i]; i++) {
		g_assert_true(g_utf8_validate(held->ids[i], -1, NULL));
		g_assert_true(i == 0 || strcmp(held->ids[i - 1], held->ids[i]) < 0);
		g_assert_nonnull(rdmad_pod_list_holder(list, held->resource, held->ids[i]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(data, size, &error);

	g_assert_true((list == NULL) == (error != NULL));
	for (guint i = 0; list && i < list->entries->len; i++)
		check_entry(list, g_ptr_array_index(list->entries, i));
	return 0;
}
