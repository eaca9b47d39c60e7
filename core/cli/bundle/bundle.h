/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad doctor --bundle: one file with all that support asks for. */
#pragma once

#include "cli/bundle/archive.h"
#include "cli/command.h"

/* The exit status.  Missing files, and answers missing while rdmad does not run, are listed in it. */
int bundle_write(const CommandOptions *options);

/* machine.c: the files that rdmad reads of a machine, below `machine/` of an archive, for --sysroot.  As
 * tests/machines/record does: files that only root may read are left out. */
void machine_record(Archive *archive, const RdmadSysroot *root);
