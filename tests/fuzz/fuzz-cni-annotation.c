/* SPDX-License-Identifier: Apache-2.0 */
/* Any annotation of a pod is rejected with its place, or names valid interfaces. */
#include <stdint.h>
#include <string.h>

#include "annotation.h"
#include "error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) entries = cni_annotation_parse(text, &error);

	g_assert_true((entries == NULL) == (error != NULL));
	g_assert_true(!error || error->domain == CNI_ERROR);
	for (guint i = 0; entries && i < entries->len; i++)
		g_assert_true(rdmad_interface_name_is_valid(
			((CniAnnotationEntry *)entries->pdata[i])->ifname));
	return 0;
}
