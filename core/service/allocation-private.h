/* SPDX-License-Identifier: Apache-2.0 */
/* Construction of allocations, which are immutable once in the table */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/error.h>

#define RDMAD_ALLOCATION_ID_LENGTH 16u

/* Returns a new reference with all other members zero.  Takes `id` over; NULL: a random id. */
RdmadAllocation *rdmad_allocation_new(char *id);
/* Returns a copy that the caller may modify. */
RdmadAllocation *rdmad_allocation_copy(const RdmadAllocation *allocation);

/* Returns FALSE with RDMAD_ERROR_INVALID if a value, from a module or from an edited database,
 * is not valid. */
gboolean rdmad_allocation_check(const RdmadAllocation *allocation, GError **error);

void rdmad_attachment_copy(RdmadAttachment *to, const RdmadAttachment *from);
void rdmad_attachment_clear(RdmadAttachment *attachment);
/* Returns the index of the attachment, or -1. */
int rdmad_allocation_find_attachment(const RdmadAllocation *allocation, const char *netns,
				     const char *interface);
void rdmad_allocation_remove_attachment(RdmadAllocation *allocation, guint index);
void rdmad_allocation_add_attachment(RdmadAllocation *allocation,
				     const RdmadAttachment *attachment);

/* Copies `file`. */
void rdmad_allocation_add_file(RdmadAllocation *allocation, const RdmadAllocationFile *file);

gboolean rdmad_allocation_id_is_valid(const char *id);
gboolean rdmad_allocation_has_hold(const RdmadAllocation *allocation, RdmadHold hold);

void rdmad_allocation_set_pod(RdmadAllocation *allocation, const char *pod_namespace,
			      const char *pod_name, const char *container);
gboolean rdmad_allocation_is_of_pod(const RdmadAllocation *allocation, const char *pod_namespace,
				    const char *pod_name);
void rdmad_allocation_set_pod_cgroup(RdmadAllocation *allocation, const char *pod_cgroup);
/* Sets the boot and the kubelet that vouch for the allocation.  That of another boot has no cgroup:
 * the pod's is still to be found; and the numbers of its device files are unknown. */
void rdmad_allocation_set_witness(RdmadAllocation *allocation, const char *boot,
				  const char *kubelet);

/* The name of a slot: ids are unique only within a resource. */
typedef struct {
	const char *resource, *slot;
} RdmadSlot;

/* For hash tables whose keys are RdmadSlot. */
guint rdmad_slot_hash(gconstpointer slot);
gboolean rdmad_slot_equal(gconstpointer a, gconstpointer b);
/* Returns a copy with both strings in one block; g_free(). */
RdmadSlot *rdmad_slot_dup(const RdmadSlot *slot);
