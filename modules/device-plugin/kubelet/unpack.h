/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from kubelet, unpacked into memory that is bounded and freed at once
 *
 * A few bytes on the wire can take many in memory (an empty string takes two bytes there), so the
 * size of the message alone is not a bound.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <rdmad/types.h>

typedef struct Unpacked Unpacked;

/* Returns NULL with RDMAD_ERROR_INVALID if the message is malformed or takes too much memory. */
Unpacked *unpack(const ProtobufCMessageDescriptor *type, const guint8 *bytes, gsize size,
		 GError **error);
/* Returns the message, which is valid as long as `unpacked`. */
gconstpointer unpacked_message(const Unpacked *unpacked);
void unpacked_free(Unpacked *unpacked);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Unpacked, unpacked_free)
