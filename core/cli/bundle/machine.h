/* SPDX-License-Identifier: Apache-2.0 */
/* What rdmad reads of a machine, below `machine/` of an archive: for --sysroot. */
#pragma once

#include "cli/bundle/archive.h"

/* As tests/machines/record: what only root may read is left out. */
void machine_record(Archive *archive, const RdmadSysroot *root);
