/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GID tables through a device that is open
 *
 * The kernel gives all entries of a device in one call, where sysfs has a file for each, used or not.  It
 * does not give the names of their interfaces: a number is not proof, as it may be of another network
 * namespace.
 *
 * Source: ibv_query_gid_table(3), ibv_query_gid_ex(3).
 */
#pragma once

#include "hardware/scan/scan.h"
#include "hardware/verbs/open.h"

/* A query of RdmadGidSource; `open`: GPtrArray of RdmadVerbsOpen.  Its result is noted there. */
GArray *rdmad_verbs_gids_query(const char *node, gpointer open);
