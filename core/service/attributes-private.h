/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/attributes.h>

RdmadAttributes *rdmad_attributes_new(RdmadLoop *loop);
void rdmad_attributes_free(RdmadAttributes *attributes);
/* Removes the owner's attributes and watches; counts the watches alone, for attributes are meant to go so. */
guint rdmad_attributes_reap(RdmadAttributes *attributes, const RdmadModule *owner);
/* In the order of their names. */
void rdmad_attributes_foreach(RdmadAttributes *attributes, RdmadAttributeFunc fn, gpointer data);
