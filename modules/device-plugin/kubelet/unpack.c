/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/unpack.h"

#include <rdmad/error.h>

#define MEMORY_MAX (16u << 20)
#define BLOCK_SIZE 4096u
#define ALIGNMENT  16u

struct Unpacked {
	GPtrArray *blocks;
	guint8 *next; /* in the last block */
	gsize left, total;
	ProtobufCMessage *message;
};

static gpointer block_add(Unpacked *unpacked, gsize size)
{
	gpointer block;

	if (size > MEMORY_MAX - unpacked->total)
		return NULL;
	block = g_try_malloc(size);
	if (!block)
		return NULL;
	unpacked->total += size;
	g_ptr_array_add(unpacked->blocks, block);
	return block;
}

static void *arena_alloc(void *data, size_t size)
{
	Unpacked *unpacked = data;
	guint8 *start;

	if (size > MEMORY_MAX)
		return NULL;
	size = (size + ALIGNMENT - 1) & ~(gsize)(ALIGNMENT - 1);
	if (size > BLOCK_SIZE / 4)
		return block_add(unpacked, size);
	if (size > unpacked->left) {
		unpacked->next = block_add(unpacked, BLOCK_SIZE);
		unpacked->left = unpacked->next ? BLOCK_SIZE : 0;
	}
	if (!unpacked->next)
		return NULL;
	start = unpacked->next;
	unpacked->next += size;
	unpacked->left -= size;
	return start;
}

static void arena_free(void *data, void *pointer)
{
	/* unpacked_free() frees all blocks together. */
}

Unpacked *unpack(const ProtobufCMessageDescriptor *type, const guint8 *bytes, gsize size,
		 GError **error)
{
	g_autoptr(Unpacked) unpacked = g_new0(Unpacked, 1);
	ProtobufCAllocator allocator = { arena_alloc, arena_free, unpacked };

	unpacked->blocks = g_ptr_array_new_with_free_func(g_free);
	unpacked->message = protobuf_c_message_unpack(type, &allocator, size, bytes);
	if (unpacked->message)
		return g_steal_pointer(&unpacked);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "%" G_GSIZE_FORMAT " bytes are not a valid %s", size, type->name);
	return NULL;
}

gconstpointer unpacked_message(const Unpacked *unpacked)
{
	return unpacked->message;
}

void unpacked_free(Unpacked *unpacked)
{
	g_ptr_array_unref(unpacked->blocks);
	g_free(unpacked);
}
