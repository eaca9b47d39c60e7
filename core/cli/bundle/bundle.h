/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad doctor --bundle: one file with the data that support needs */
#pragma once

#include "cli/bundle/archive.h"
#include "cli/command.h"

/* Returns the exit status.  The bundle lists missing files, and missing responses if rdmad does not
 * run. */
int bundle_write(const CommandOptions *options);

/* machine.c: adds the files that rdmad reads of a machine below `machine/`, for --sysroot.  Like
 * tests/machines/record, leaves out files that only root may read. */
void machine_record(Archive *archive, const RdmadSysroot *root);
