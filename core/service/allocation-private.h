/* SPDX-License-Identifier: Apache-2.0 */
/* Construction of allocations; once in the table, an allocation never changes. */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/error.h>

#define RDMAD_ALLOCATION_ID_LENGTH 16u

/* One reference; takes `id` over (NULL: a random one), all else zero. */
RdmadAllocation *rdmad_allocation_new(char *id);
/* An allocation of the caller's own with the same content. */
RdmadAllocation *rdmad_allocation_copy(const RdmadAllocation *allocation);

/* FALSE with RDMAD_ERROR_INVALID: a value that no allocation may hold, from a module or from a database
 * that somebody has edited. */
gboolean rdmad_allocation_check(const RdmadAllocation *allocation, GError **error);

void rdmad_attachment_copy(RdmadAttachment *to, const RdmadAttachment *from);
void rdmad_attachment_clear(RdmadAttachment *attachment);
/* The index of the attachment of that name, or -1. */
int rdmad_allocation_find_attachment(const RdmadAllocation *allocation, const char *netns,
				     const char *interface);
void rdmad_allocation_remove_attachment(RdmadAllocation *allocation, guint index);
void rdmad_allocation_add_attachment(RdmadAllocation *allocation,
				     const RdmadAttachment *attachment);

gboolean rdmad_allocation_id_is_valid(const char *id);

void rdmad_allocation_set_pod(RdmadAllocation *allocation, const char *pod_namespace,
			      const char *pod_name, const char *container);
/* Sets the kubelet that vouches for it. */
void rdmad_allocation_set_witness(RdmadAllocation *allocation, const char *boot,
				  const char *kubelet);

/* Names one slot: ids are unique within a resource only. */
typedef struct {
	const char *resource, *slot;
} RdmadSlot;

/* For hash tables whose keys are RdmadSlot. */
guint rdmad_slot_hash(gconstpointer slot);
gboolean rdmad_slot_equal(gconstpointer a, gconstpointer b);
/* One block with its own copy of both strings; g_free(). */
RdmadSlot *rdmad_slot_dup(const RdmadSlot *slot);
