/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name list: names of counters, shared by all who have the same ones
 *
 * Hundreds of ports have the same counters, and readings outlive the readers that made them.  Immutable, and for
 * any thread.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	guint refs, n; /* under the lock of all lists */
	GRefString *names[];
} RdmadNameList;

RdmadNameList *rdmad_name_list_new(const char *const *names, guint n);
RdmadNameList *rdmad_name_list_ref(RdmadNameList *list);
void rdmad_name_list_unref(RdmadNameList *list);
