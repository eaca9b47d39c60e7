/* SPDX-License-Identifier: Apache-2.0 */
/* Any specification file is rejected with a reason, or yields a set of names. */
#include <rdmad/error.h>
#include <stdint.h>

#include "allocate/cdi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GHashTable) names = cdi_spec_names((const char *)data, size, &error);

	g_assert_true((names == NULL) == (error != NULL));
	g_assert_true(!error || g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_INVALID) ||
		      g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_BUSY));
	return 0;
}
