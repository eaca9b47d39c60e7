/* SPDX-License-Identifier: Apache-2.0 */
#include "pod-list-text.h"

#include <string.h>

/* Appends a length-delimited field of less than 128 * 128 bytes. */
static void field_append(GByteArray *out, guint8 number, const void *data, gsize size)
{
	const guint8 head[] = { (guint8)(number << 3 | 2), (guint8)(size & 0x7f) | 0x80,
				(guint8)(size >> 7) };

	g_assert_cmpuint(size, <, 128 * 128);
	g_byte_array_append(out, head, sizeof(head));
	g_byte_array_append(out, data, (guint)size);
}

static void text_append(GByteArray *out, guint8 number, const char *text)
{
	field_append(out, number, text, strlen(text));
}

static void message_append(GByteArray *out, guint8 number, const GByteArray *message)
{
	field_append(out, number, message->data, message->len);
}

static void pod_append(GByteArray *out, const char *resource, const char *name, const char *ids)
{
	g_auto(GStrv) slots = g_strsplit(ids, ",", -1);
	g_autoptr(GByteArray) container = g_byte_array_new();
	g_autoptr(GByteArray) pod = g_byte_array_new();

	text_append(container, 1, "main");
	for (guint i = 0; slots[i]; i++) {
		g_autoptr(GByteArray) devices = g_byte_array_new();

		text_append(devices, 1, resource);
		text_append(devices, 2, slots[i]);
		message_append(container, 2, devices);
	}
	text_append(pod, 1, name);
	text_append(pod, 2, "ns");
	message_append(pod, 3, container);
	message_append(out, 1, pod);
}

GBytes *pod_list_text_pack_of(const char *resource, const char *text)
{
	g_auto(GStrv) pods = g_strsplit(text, " ", -1);
	GByteArray *out = g_byte_array_new();

	for (guint i = 0; pods[i] && *pods[i]; i++) {
		g_auto(GStrv) parts = g_strsplit(pods[i], "=", 2);

		pod_append(out, resource, parts[0], parts[1]);
	}
	return g_byte_array_free_to_bytes(out);
}

GBytes *pod_list_text_pack(const char *text)
{
	return pod_list_text_pack_of("rdma/hca", text);
}
