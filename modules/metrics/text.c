/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#define FIRST_SIZE 256u

void text_grow(Text *text, gsize more)
{
	const gsize wanted = MAX(text->length + more, FIRST_SIZE);

	text->size = MAX(wanted, text->size * 2);
	text->start = g_realloc(text->start, text->size);
}
