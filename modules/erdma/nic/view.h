/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of the host's network, made by a worker and then constant. */
#pragma once

#include <rdmad/network.h>
#include <rdmad/work.h>

typedef struct {
	GPtrArray *links;     /* of RdmadLink */
	GPtrArray *addresses; /* of RdmadAddress */
	GPtrArray *routes; /* of RdmadRoute, both families, all tables but the kernel's local one */
	GPtrArray *rules;  /* of RdmadRule, both families */
} ErdmaView;

/* Returns an empty view. */
ErdmaView *erdma_view_new(void);
void erdma_view_free(gpointer view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaView, erdma_view_free)

/* `run` of a job; returns an ErdmaView. */
gpointer erdma_view_look(gpointer input, const RdmadJob *job, GError **error);

/* Returns NULL if no link has the index. */
const RdmadLink *erdma_view_link(const ErdmaView *view, int ifindex);
/* Finds a link by name, alternative name or MAC. */
const RdmadLink *erdma_view_link_named(const ErdmaView *view, const char *name);
