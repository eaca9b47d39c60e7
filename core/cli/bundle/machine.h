/* SPDX-License-Identifier: Apache-2.0 */
/* The files that rdmad reads of a machine, below `machine/` of an archive, for --sysroot. */
#pragma once

#include "cli/bundle/archive.h"

/* As tests/machines/record does: files that only root may read are left out. */
void machine_record(Archive *archive, const RdmadSysroot *root);
