/* SPDX-License-Identifier: Apache-2.0 */
/* The host's network as it is at one moment; a worker reads it, and nothing changes it. */
#pragma once

#include <rdmad/network.h>
#include <rdmad/work.h>

typedef struct {
	GPtrArray *links;     /* of RdmadLink */
	GPtrArray *addresses; /* of RdmadAddress */
	GPtrArray *routes; /* of RdmadRoute, both families, all tables but the kernel's local one */
	GPtrArray *rules;  /* of RdmadRule, both families */
} ErdmaView;

/* Empty. */
ErdmaView *erdma_view_new(void);
void erdma_view_free(gpointer view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaView, erdma_view_free)

/* `run` of a job: an ErdmaView. */
gpointer erdma_view_look(gpointer input, const RdmadJob *job, GError **error);

/* NULL: there is none. */
const RdmadLink *erdma_view_link(const ErdmaView *view, int ifindex);
/* By name, alternative name or MAC. */
const RdmadLink *erdma_view_link_named(const ErdmaView *view, const char *name);
