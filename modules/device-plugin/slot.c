/* SPDX-License-Identifier: Apache-2.0 */
#include "slot.h"

#include <string.h>

/* Leaves room for ":" and a mark, "::" and the digits. */
#define STEM_MAX  44u
#define HASH_MASK 0xffffffu

static gboolean id_is_plain(const char *id)
{
	for (const char *c = id; *c; c++)
		if (!g_ascii_isalnum(*c) && !strchr("._:-", *c))
			return FALSE;
	return strlen(id) <= STEM_MAX;
}

/* The hash distinguishes IDs that are equal after the replacement. */
static char *id_clean(const char *id)
{
	g_autofree char *head = g_strndup(id, STEM_MAX - sizeof("-000000"));

	g_strcanon(head, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-", '_');
	return g_strdup_printf("%s-%06x", head, g_str_hash(id) & HASH_MASK);
}

char *slot_stem(const char *device_id, const char *marked_by)
{
	g_autofree char *plain = id_is_plain(device_id) ? g_strdup(device_id) : id_clean(device_id);

	if (!marked_by)
		return g_steal_pointer(&plain);
	return g_strdup_printf("%s:%06x", plain, g_str_hash(marked_by) & HASH_MASK);
}

char *slot_shared(const char *stem, guint number, guint digits)
{
	return g_strdup_printf("%s::%0*u", stem, (int)digits, number);
}

char *slot_by_name(const char *stem, guint number)
{
	return g_strdup_printf("%s/%u", stem, number);
}

gboolean slot_parse_foreign(const char *slot, char **stem, guint *number)
{
	const char *mark = strpbrk(slot, "@/");
	guint64 value;

	if (!mark || mark == slot ||
	    !g_ascii_string_to_unsigned(mark + 1, 10, 0, G_MAXUINT16, &value, NULL))
		return FALSE;
	*stem = g_strndup(slot, (gsize)(mark - slot));
	*number = (guint)value;
	return TRUE;
}

guint slot_digits(guint count)
{
	guint digits = 1;

	for (guint last = count ? count - 1 : 0; last >= 10; last /= 10)
		digits++;
	return digits;
}
