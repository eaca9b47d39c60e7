/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/facts.h>

RdmadFacts *rdmad_facts_new(RdmadLoop *loop);
void rdmad_facts_free(RdmadFacts *facts);
/* Removes the owner's facts and watches; counts the watches alone, for facts are meant to go so. */
guint rdmad_facts_reap(RdmadFacts *facts, const RdmadModule *owner);
/* In the order of their names. */
void rdmad_facts_foreach(RdmadFacts *facts, RdmadFactFunc fn, gpointer data);
