/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: small named values that one module or the node provides and others watch
 * ("label:vke.node.rdma.mode", "driver:erdma").  Names and values are UTF-8 of at most 253 bytes.
 */
#pragma once

#include <rdmad/types.h>

/* `value` NULL removes it.  A fact belongs to who set it last; it goes with its owner. */
RDMAD_API gboolean rdmad_facts_set(RdmadFacts *facts, RdmadModule *owner, const char *name,
				   const char *value, GError **error);
/* NULL where there is none; borrowed until it changes. */
RDMAD_API const char *rdmad_facts_get(RdmadFacts *facts, const char *name);

typedef void (*RdmadFactFunc)(const char *name, const char *value, gpointer data);
/* From the top of the loop; told the present value, if any, first.  `name` NULL: every fact. */
RDMAD_API RdmadWatch *rdmad_facts_watch(RdmadFacts *facts, RdmadModule *owner, const char *name,
					RdmadFactFunc fn, gpointer data)
	G_GNUC_WARN_UNUSED_RESULT;
