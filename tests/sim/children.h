/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdmad's child processes (rdmad/child.h): runs of the IPAM plugin, which take time
 *
 * A run makes or frees a lease when it ends.  It may answer with an error, end by a signal, without
 * an answer or not at all; the last three before or after its work.  When rdmad ends, the plugin
 * may be killed with its cgroup, before or after its work.  A child of the plugin, which does the
 * work later, may survive that: the next rdmad has to kill it.
 */
#pragma once

#include "base/loop.h"
#include "decisions.h"

void children_begin(RdmadLoop *loop, Decisions *decisions);
void children_end(void);
/* Makes half of the runs fail. */
void children_set_failing(gboolean fail);
/* Makes all runs end well. */
void children_end_deviations(void);
/* Ends the survivors. */
void children_cut_power(void);
