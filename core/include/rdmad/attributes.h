/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes: small named values that one module or the node provides and others watch
 * ("label:vke.node.rdma.mode", "driver:erdma").  Names and values are UTF-8 of at most 253 bytes.
 */
#pragma once

#include <rdmad/types.h>

/* Sets the attribute, or removes it if `value` is NULL.  An attribute belongs to its last writer,
 * and is removed with that owner.  RDMAD_ERROR_INVALID: name or value is not UTF-8 or too long, or
 * the name is empty. */
RDMAD_API gboolean rdmad_attributes_set(RdmadAttributes *attributes, RdmadModule *owner,
					const char *name, const char *value, GError **error);
/* Returns the value, borrowed until it changes, or NULL if there is no such attribute. */
RDMAD_API const char *rdmad_attributes_get(RdmadAttributes *attributes, const char *name);

/* `value` is NULL if the attribute was removed. */
typedef void (*RdmadAttributeFunc)(const char *name, const char *value, gpointer data);
/* Calls `fn` from the top of the loop, first with the present value, if any.  `name` NULL: every
 * attribute. */
RDMAD_API RdmadWatch *rdmad_attributes_watch(RdmadAttributes *attributes, RdmadModule *owner,
					     const char *name, RdmadAttributeFunc fn,
					     gpointer data) G_GNUC_WARN_UNUSED_RESULT;
