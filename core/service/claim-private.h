/* SPDX-License-Identifier: Apache-2.0 */
/* How claims are made; once the table has one, nobody changes it. */
#pragma once

#include <rdmad/claims.h>
#include <rdmad/error.h>

#define RDMAD_CLAIM_ID_LENGTH 16u

/* One reference; takes `id` over (NULL: a random one), all else zero. */
RdmadClaim *rdmad_claim_new(char *id);
/* A claim of the caller's own with the same content. */
RdmadClaim *rdmad_claim_copy(const RdmadClaim *claim);

/* Says FALSE and RDMAD_ERROR_INVALID for what no claim may hold, whoever made it: a module, or a
 * database that somebody has edited. */
gboolean rdmad_claim_check(const RdmadClaim *claim, GError **error);

void rdmad_attachment_copy(RdmadAttachment *to, const RdmadAttachment *from);
void rdmad_attachment_clear(RdmadAttachment *attachment);
/* The index of the attachment of that name, or -1. */
int rdmad_claim_find_attachment(const RdmadClaim *claim, const char *netns, const char *interface);
void rdmad_claim_remove_attachment(RdmadClaim *claim, guint index);
void rdmad_claim_add_attachment(RdmadClaim *claim, const RdmadAttachment *attachment);

gboolean rdmad_claim_id_is_valid(const char *id);

void rdmad_claim_set_pod(RdmadClaim *claim, const char *pod_namespace, const char *pod_name,
			 const char *container);
/* Who vouches for it from now on. */
void rdmad_claim_set_witness(RdmadClaim *claim, const char *boot, const char *kubelet);
