/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/counters.h>

/* A place for one more file; FALSE: there is none. */
gboolean rdmad_file_budget_take(RdmadFileBudget *budget);
void rdmad_file_budget_give(RdmadFileBudget *budget);
/* It was made smaller than what is open. */
gboolean rdmad_file_budget_is_exceeded(const RdmadFileBudget *budget);
