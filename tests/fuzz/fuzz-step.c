/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are rejected with a reason, or are steps that are equal after writing and parsing. */
#include <rdmad/error.h>
#include <rdmad/step.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) steps = rdmad_steps_from_text((const char *)data, size, &error);
	g_autoptr(GPtrArray) again = NULL;
	g_autofree char *text = NULL, *same = NULL;

	g_assert_true((steps == NULL) == (error != NULL));
	if (!steps)
		return 0;
	for (guint i = 0; i < steps->len; i++)
		g_free(rdmad_step_describe(steps->pdata[i]));
	text = rdmad_steps_to_text(steps);
	again = rdmad_steps_from_text(text, strlen(text), &error);
	g_assert_no_error(error);
	same = rdmad_steps_to_text(again);
	g_assert_cmpstr(text, ==, same);
	return 0;
}
