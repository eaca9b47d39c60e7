/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name list: names of counters, shared by all readers and readings with the same names
 *
 * Hundreds of ports have the same counters, and readings outlive their readers.  A list is
 * immutable and may be used on any thread.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	guint refs, n; /* protected by the lock of all lists */
	GRefString *names[];
} RdmadNameList;

RdmadNameList *rdmad_name_list_new(const char *const *names, guint n);
RdmadNameList *rdmad_name_list_ref(RdmadNameList *list);
void rdmad_name_list_unref(RdmadNameList *list);
