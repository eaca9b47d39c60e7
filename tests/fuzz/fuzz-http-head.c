/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are rejected, or are a head with valid parts, independent of how they were split. */
#include <stdint.h>
#include <string.h>

#include "http/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Passes the bytes one by one, like a slow client. */
static gssize find_bytewise(const uint8_t *data, size_t size)
{
	gsize scanned = 0;

	for (size_t n = 1; n <= size; n++) {
		const gssize found = rdmad_http_head_find(data, n, &scanned);

		if (found)
			return found;
	}
	return 0;
}

static void check_clean(const RdmadHttpField *fields, guint n, gboolean decoded)
{
	for (guint i = 0; i < n; i++) {
		g_assert_null(strpbrk(fields[i].name, decoded ? "" : "\r\n: "));
		g_assert_null(strpbrk(fields[i].value, decoded ? "" : "\r\n"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gsize scanned = 0;
	const gssize found = rdmad_http_head_find(data, size, &scanned);
	RdmadHttpHead head;

	g_assert_cmpint(found, ==, find_bytewise(data, size));
	if (found <= 0)
		return 0;
	if (rdmad_http_head_parse(&head, data, found) == 0) {
		g_assert_true(*head.path == '/');
		g_assert_true(head.n_fields <= RDMAD_HTTP_MAX_FIELDS);
		g_assert_null(rdmad_http_head_field(&head, "Transfer-Encoding"));
		check_clean(head.fields, head.n_fields, FALSE);
		check_clean(head.params, head.n_params, TRUE);
	}
	rdmad_http_head_clear(&head);
	return 0;
}
