/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/pod-metadata.h>

RdmadPodMetadata *rdmad_pod_metadata_new(RdmadLoop *loop);
void rdmad_pod_metadata_free(RdmadPodMetadata *metadata);
/* Cancels the owner's queries and removes its provider.  Returns their number. */
guint rdmad_pod_metadata_reap(RdmadPodMetadata *metadata, const RdmadModule *owner);
