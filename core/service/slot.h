/* SPDX-License-Identifier: Apache-2.0 */
/* Names one slot: ids are unique within a resource only. */
#pragma once

#include <glib.h>

typedef struct {
	const char *resource, *slot;
} RdmadSlot;

/* For hash tables whose keys are RdmadSlot. */
guint rdmad_slot_hash(gconstpointer slot);
gboolean rdmad_slot_equal(gconstpointer a, gconstpointer b);

/* One block with its own copy of both strings; g_free(). */
RdmadSlot *rdmad_slot_dup(const RdmadSlot *slot);
