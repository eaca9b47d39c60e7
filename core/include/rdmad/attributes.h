/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes: small named values that one module or the node provides and others watch
 * ("label:vke.node.rdma.mode", "driver:erdma").  Names and values are UTF-8 of at most 253 bytes.
 */
#pragma once

#include <rdmad/types.h>

/* `value` NULL removes it.  An attribute belongs to its last writer; it is removed with its owner. */
RDMAD_API gboolean rdmad_attributes_set(RdmadAttributes *attributes, RdmadModule *owner,
					const char *name, const char *value, GError **error);
/* NULL where there is none; borrowed until it changes. */
RDMAD_API const char *rdmad_attributes_get(RdmadAttributes *attributes, const char *name);

typedef void (*RdmadAttributeFunc)(const char *name, const char *value, gpointer data);
/* Called from the top of the loop, first with the present value, if any.  `name` NULL: every
 * attribute. */
RDMAD_API RdmadWatch *rdmad_attributes_watch(RdmadAttributes *attributes, RdmadModule *owner,
					     const char *name, RdmadAttributeFunc fn,
					     gpointer data) G_GNUC_WARN_UNUSED_RESULT;
