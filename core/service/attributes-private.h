/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/attributes.h>

RdmadAttributes *rdmad_attributes_new(RdmadLoop *loop);
void rdmad_attributes_free(RdmadAttributes *attributes);
/* Removes the owner's attributes and watches.  Returns the number of watches; attributes are
 * meant to be removed this way. */
guint rdmad_attributes_reap(RdmadAttributes *attributes, const RdmadModule *owner);
/* Calls `fn` for each attribute in the order of the names. */
void rdmad_attributes_foreach(RdmadAttributes *attributes, RdmadAttributeFunc fn, gpointer data);
