/* SPDX-License-Identifier: Apache-2.0 */
/* Any environment and input of a CNI plugin yield a CNI error or a request; the result of earlier
 * plugins in the chain can be written in every version.  An empty line ends the environment. */
#include <stdint.h>
#include <string.h>

#include "error.h"
#include "request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer_in_each_version(const CniRequest *request, const GError *error)
{
	for (CniVersion version = 0; version < CNI_N_VERSIONS; version++) {
		if (error)
			g_free(cni_error_text(error, version));
		if (request->previous)
			g_free(cni_result_text(request->previous, version));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_malloc0(size + 1);
	const char *end = size ? memmem(data, size, "\n\n", 2) : NULL;
	const gsize environment = end ? (gsize)(end - (const char *)data) + 1 : size;
	const gsize input = end ? environment + 1 : size;
	g_autoptr(GError) error = NULL;
	g_autoptr(CniRequest) request = NULL;

	if (size)
		memcpy(text, data, size);
	for (gsize i = 0; i < environment; i++)
		if (text[i] == '\n')
			text[i] = '\0';
	request = cni_request_parse(text, environment, text + input, size - input, &error);
	g_assert_true(error || request->command < CNI_N_COMMANDS);
	g_assert_true(!error || error->domain == CNI_ERROR);
	answer_in_each_version(request, error);
	return 0;
}
